-- What use has shown of a model's window, beside what its catalogue says
-- (model_limits): the limit that a provider named when it refused a prompt, and
-- the largest prompt that it took since.
CREATE TABLE model_windows (
	provider        TEXT    NOT NULL,
	model           TEXT    NOT NULL,
	overflow_tokens INTEGER NOT NULL DEFAULT 0,
	overflow_at     INTEGER NOT NULL DEFAULT 0,
	accepted_tokens INTEGER NOT NULL DEFAULT 0,
	accepted_at     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

-- A prompt of the session was refused for its length, and no pass has made room
-- since. The pass tells the reports of one refusal from another refusal.
ALTER TABLE sessions ADD COLUMN overflow_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN overflow_pass INTEGER NOT NULL DEFAULT 0;

-- What the model was told about output that it could drop.
CREATE TABLE nudges (
	harness            TEXT    NOT NULL,
	session_id         TEXT    NOT NULL,
	-- the reminders at tool outputs: how much there was to drop at the last, and its tone
	undropped          INTEGER NOT NULL DEFAULT 0,
	level              TEXT    NOT NULL DEFAULT '' CHECK (level IN ('', 'gentle', 'firm', 'urgent')),
	-- the one message of the session's life, a lease while it is sent
	message            TEXT    NOT NULL DEFAULT '' CHECK (message IN ('', 'pending', 'claimed', 'delivered')),
	message_claimed_at INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
