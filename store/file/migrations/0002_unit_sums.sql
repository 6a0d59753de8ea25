-- What a status shows of a session is read for fifty sessions each second while
-- somebody watches: counting the units of long sessions took 200 ms (fifty
-- sessions of 10,000 units), these sums take under one. Triggers keep them, so
-- that no writer can forget to.

CREATE TABLE unit_sums (
	harness              TEXT    NOT NULL,
	session_id           TEXT    NOT NULL,
	kind                 TEXT    NOT NULL,
	units                INTEGER NOT NULL,
	tokens               INTEGER NOT NULL,
	input_tokens         INTEGER NOT NULL,
	-- of them, those with an edit that takes the content off the wire
	dropped_units        INTEGER NOT NULL DEFAULT 0,
	dropped_tokens       INTEGER NOT NULL DEFAULT 0,
	dropped_input_tokens INTEGER NOT NULL DEFAULT 0, -- a skeleton keeps its input
	PRIMARY KEY (harness, session_id, kind),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TRIGGER unit_added AFTER INSERT ON units
BEGIN
	INSERT INTO unit_sums (harness, session_id, kind, units, tokens, input_tokens)
	VALUES (new.harness, new.session_id, new.kind, 1, new.tokens, new.input_tokens)
	ON CONFLICT (harness, session_id, kind) DO UPDATE SET
		units        = units + 1,
		tokens       = tokens + excluded.tokens,
		input_tokens = input_tokens + excluded.input_tokens;
END;

CREATE TRIGGER unit_removed AFTER DELETE ON units
BEGIN
	UPDATE unit_sums SET
		units        = units - 1,
		tokens       = tokens - old.tokens,
		input_tokens = input_tokens - old.input_tokens
	WHERE harness = old.harness AND session_id = old.session_id AND kind = old.kind;
END;

-- The edits of a unit go before the unit does.

CREATE TRIGGER content_dropped AFTER INSERT ON edits
WHEN new.kind IN ('drop', 'skeleton') AND NOT EXISTS (
	SELECT 1 FROM edits
	WHERE harness = new.harness AND session_id = new.session_id AND tag = new.tag
		AND kind IN ('drop', 'skeleton') AND kind <> new.kind
)
BEGIN
	UPDATE unit_sums SET
		dropped_units  = dropped_units + 1,
		dropped_tokens = dropped_tokens + u.tokens
	FROM units AS u
	WHERE unit_sums.harness = new.harness AND unit_sums.session_id = new.session_id AND unit_sums.kind = u.kind
		AND u.harness = new.harness AND u.session_id = new.session_id AND u.tag = new.tag;
END;

CREATE TRIGGER content_restored AFTER DELETE ON edits
WHEN old.kind IN ('drop', 'skeleton') AND NOT EXISTS (
	SELECT 1 FROM edits
	WHERE harness = old.harness AND session_id = old.session_id AND tag = old.tag
		AND kind IN ('drop', 'skeleton') AND kind <> old.kind
)
BEGIN
	UPDATE unit_sums SET
		dropped_units  = dropped_units - 1,
		dropped_tokens = dropped_tokens - u.tokens
	FROM units AS u
	WHERE unit_sums.harness = old.harness AND unit_sums.session_id = old.session_id AND unit_sums.kind = u.kind
		AND u.harness = old.harness AND u.session_id = old.session_id AND u.tag = old.tag;
END;

CREATE TRIGGER input_dropped AFTER INSERT ON edits
WHEN new.kind = 'drop'
BEGIN
	UPDATE unit_sums SET
		dropped_input_tokens = dropped_input_tokens + u.input_tokens
	FROM units AS u
	WHERE unit_sums.harness = new.harness AND unit_sums.session_id = new.session_id AND unit_sums.kind = u.kind
		AND u.harness = new.harness AND u.session_id = new.session_id AND u.tag = new.tag;
END;

CREATE TRIGGER input_restored AFTER DELETE ON edits
WHEN old.kind = 'drop'
BEGIN
	UPDATE unit_sums SET
		dropped_input_tokens = dropped_input_tokens - u.input_tokens
	FROM units AS u
	WHERE unit_sums.harness = old.harness AND unit_sums.session_id = old.session_id AND unit_sums.kind = u.kind
		AND u.harness = old.harness AND u.session_id = old.session_id AND u.tag = old.tag;
END;

INSERT INTO unit_sums
SELECT
	u.harness, u.session_id, u.kind,
	count(*), sum(u.tokens), sum(u.input_tokens),
	count(e.tag), sum(iif(e.tag IS NULL, 0, u.tokens)), sum(iif(e.whole, u.input_tokens, 0))
FROM units AS u
LEFT JOIN (
	SELECT harness, session_id, tag, max(kind = 'drop') AS whole FROM edits
	WHERE kind IN ('drop', 'skeleton')
	GROUP BY harness, session_id, tag
) AS e USING (harness, session_id, tag)
GROUP BY u.harness, u.session_id, u.kind;

-- Busts are rare, so the index is small.
CREATE INDEX passes_busts ON passes (harness, session_id, bust_cause) WHERE bust = 1;
