-- The tokens that each rule has taken off the wire in a pass, and how many of them the model
-- read again soon after. 'summaries' stands for the rule where the head covers messages.
CREATE TABLE removals (
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	pass       INTEGER NOT NULL,
	rule       TEXT    NOT NULL,
	cause      TEXT    NOT NULL DEFAULT '', -- of the pass
	tokens     INTEGER NOT NULL,
	through    INTEGER NOT NULL DEFAULT 0, -- of summaries: the last ordinal that the head covers
	rereads    INTEGER NOT NULL DEFAULT 0, -- removed pieces that were read again
	reread     INTEGER NOT NULL DEFAULT 0, -- their tokens
	PRIMARY KEY (harness, session_id, pass, rule),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
