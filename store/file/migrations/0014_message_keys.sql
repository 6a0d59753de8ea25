-- A compartment names all of its messages, so that a message is covered because of its key,
-- and not because of its place. It was known before by its first and last message only: the
-- others get empty keys.
CREATE TABLE compartments_new (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	seq           INTEGER NOT NULL CHECK (seq >= 0),
	start_ordinal INTEGER NOT NULL CHECK (start_ordinal >= 1),
	end_ordinal   INTEGER NOT NULL,
	message_keys  TEXT    NOT NULL DEFAULT '[]', -- of each message, in JSON; '' for an unreadable one
	after_summary TEXT    NOT NULL DEFAULT '', -- key of the harness's own summary that the array began with, '' if it was whole
	title         TEXT    NOT NULL DEFAULT '',
	p1            TEXT    NOT NULL DEFAULT '', -- the four tiers, the longest first
	p2            TEXT    NOT NULL DEFAULT '',
	p3            TEXT    NOT NULL DEFAULT '',
	p4            TEXT    NOT NULL DEFAULT '',
	importance    INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	episode       TEXT    NOT NULL DEFAULT '',
	missing       TEXT    NOT NULL DEFAULT '', -- anchors of the raw range that no tier holds
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by IN ('model', 'repaired', 'fallback', 'extractive', 'harness')),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0, -- of the messages that it stands for
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;
INSERT INTO compartments_new
SELECT harness, session_id, seq, start_ordinal, end_ordinal, (
		WITH RECURSIVE ordinals (n) AS (
			SELECT start_ordinal
			UNION ALL
			SELECT n + 1 FROM ordinals WHERE n < min(end_ordinal, start_ordinal + 100000)
		)
		SELECT json_group_array(CASE n WHEN end_ordinal THEN end_key WHEN start_ordinal THEN start_key ELSE '' END) FROM ordinals
	), '', title, p1, p2, p3, p4, importance, episode, missing, fidelity, made_by, model, raw_tokens, created_at
FROM compartments;
DROP TABLE compartments;
ALTER TABLE compartments_new RENAME TO compartments;
CREATE INDEX compartments_figures ON compartments (harness, session_id, fidelity, start_ordinal, end_ordinal, raw_tokens, made_by);

CREATE TABLE recomp_compartments_new (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	seq           INTEGER NOT NULL CHECK (seq >= 0),
	start_ordinal INTEGER NOT NULL CHECK (start_ordinal >= 1),
	end_ordinal   INTEGER NOT NULL,
	message_keys  TEXT    NOT NULL DEFAULT '[]',
	after_summary TEXT    NOT NULL DEFAULT '',
	title         TEXT    NOT NULL DEFAULT '',
	p1            TEXT    NOT NULL DEFAULT '',
	p2            TEXT    NOT NULL DEFAULT '',
	p3            TEXT    NOT NULL DEFAULT '',
	p4            TEXT    NOT NULL DEFAULT '',
	importance    INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	episode       TEXT    NOT NULL DEFAULT '',
	missing       TEXT    NOT NULL DEFAULT '',
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by IN ('model', 'repaired', 'fallback', 'extractive', 'harness')),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;
INSERT INTO recomp_compartments_new
SELECT harness, session_id, seq, start_ordinal, end_ordinal, (
		WITH RECURSIVE ordinals (n) AS (
			SELECT start_ordinal
			UNION ALL
			SELECT n + 1 FROM ordinals WHERE n < min(end_ordinal, start_ordinal + 100000)
		)
		SELECT json_group_array(CASE n WHEN end_ordinal THEN end_key WHEN start_ordinal THEN start_key ELSE '' END) FROM ordinals
	), '', title, p1, p2, p3, p4, importance, episode, missing, fidelity, made_by, model, raw_tokens, created_at
FROM recomp_compartments;
DROP TABLE recomp_compartments;
ALTER TABLE recomp_compartments_new RENAME TO recomp_compartments;

-- Compartments whose messages a revert has taken from the session, in the order in which
-- they were taken. They come back with their messages.
CREATE TABLE withdrawn_compartments (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	seq           INTEGER NOT NULL CHECK (seq >= 0),
	start_ordinal INTEGER NOT NULL CHECK (start_ordinal >= 1),
	end_ordinal   INTEGER NOT NULL,
	message_keys  TEXT    NOT NULL DEFAULT '[]',
	after_summary TEXT    NOT NULL DEFAULT '',
	title         TEXT    NOT NULL DEFAULT '',
	p1            TEXT    NOT NULL DEFAULT '',
	p2            TEXT    NOT NULL DEFAULT '',
	p3            TEXT    NOT NULL DEFAULT '',
	p4            TEXT    NOT NULL DEFAULT '',
	importance    INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	episode       TEXT    NOT NULL DEFAULT '',
	missing       TEXT    NOT NULL DEFAULT '',
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by IN ('model', 'repaired', 'fallback', 'extractive', 'harness')),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;

ALTER TABLE heads DROP COLUMN through_tag;
ALTER TABLE heads ADD COLUMN after_summary TEXT NOT NULL DEFAULT ''; -- as in compartments
ALTER TABLE heads ADD COLUMN pinned        TEXT NOT NULL DEFAULT '[]'; -- keys of the prompts that stay on the wire, JSON
