-- Times are Unix milliseconds, 0 when unknown. Sizes are bytes or tokens, as
-- their names say. The tables of a session are clustered by its key, so that
-- loading a session reads one range of each.

CREATE TABLE sessions (
	harness           TEXT    NOT NULL,
	session_id        TEXT    NOT NULL,
	directory         TEXT    NOT NULL DEFAULT '',
	parent            TEXT    NOT NULL DEFAULT '',
	mode              TEXT    NOT NULL DEFAULT 'primary' CHECK (mode IN ('primary', 'primary-no-reduce', 'subagent', 'subagent-no-reduce')),
	provider          TEXT    NOT NULL DEFAULT '',
	model             TEXT    NOT NULL DEFAULT '',
	epoch             INTEGER NOT NULL DEFAULT 0,
	tag_counter       INTEGER NOT NULL DEFAULT 0, -- highest tag ever given, never lowered
	passes            INTEGER NOT NULL DEFAULT 0,
	busts             INTEGER NOT NULL DEFAULT 0,
	wire_messages     INTEGER NOT NULL DEFAULT 0, -- length of the last wire
	wire_chain        TEXT    NOT NULL DEFAULT '', -- hash chain over the last wire, hex
	input_tokens      INTEGER NOT NULL DEFAULT 0, -- as reported by the provider, summed over the passes
	cache_read        INTEGER NOT NULL DEFAULT 0,
	cache_write       INTEGER NOT NULL DEFAULT 0,
	prompt_tokens     INTEGER NOT NULL DEFAULT 0, -- whole prompt of the newest pass whose usage is known
	sticky_date       TEXT    NOT NULL DEFAULT '',
	sticky_date_epoch INTEGER NOT NULL DEFAULT 0,
	system_hash       TEXT    NOT NULL DEFAULT '',
	system_tokens     INTEGER NOT NULL DEFAULT 0,
	raw_messages      INTEGER NOT NULL DEFAULT 0, -- the same of the raw messages behind the wire
	raw_chain         TEXT    NOT NULL DEFAULT '',
	explicit_flush    INTEGER NOT NULL DEFAULT 0 CHECK (explicit_flush IN (0, 1)),
	last_pass_at      INTEGER NOT NULL DEFAULT 0,
	created_at        INTEGER NOT NULL,
	updated_at        INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE units (
	harness      TEXT    NOT NULL,
	session_id   TEXT    NOT NULL,
	tag          INTEGER NOT NULL,
	unit_key     TEXT    NOT NULL,
	message_key  TEXT    NOT NULL,
	kind         TEXT    NOT NULL CHECK (kind IN ('text', 'file', 'tool')),
	tool         TEXT    NOT NULL DEFAULT '',
	bytes        INTEGER NOT NULL,
	tokens       INTEGER NOT NULL,
	input_bytes  INTEGER NOT NULL DEFAULT 0,
	input_tokens INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id, tag),
	UNIQUE (harness, session_id, unit_key),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX units_by_message ON units (harness, session_id, message_key);

-- kind has no CHECK: each rule that is added brings its own.
CREATE TABLE edits (
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	tag        INTEGER NOT NULL,
	kind       TEXT    NOT NULL,
	pass       INTEGER NOT NULL, -- the pass that first applied it
	payload    TEXT    NOT NULL DEFAULT '',
	PRIMARY KEY (harness, session_id, tag, kind),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE queued_drops (
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	tag        INTEGER NOT NULL,
	queued_at  INTEGER NOT NULL,
	source     TEXT    NOT NULL DEFAULT '',
	PRIMARY KEY (harness, session_id, tag),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What a tool answered, so that a call repeated after a crash is answered
-- alike and not executed twice.
CREATE TABLE tool_replies (
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	call_id    TEXT    NOT NULL,
	reply      TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, call_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The journal. The usage is NULL until the provider has reported it.
CREATE TABLE passes (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	pass          INTEGER NOT NULL,
	at            INTEGER NOT NULL,
	verdict       TEXT    NOT NULL CHECK (verdict IN ('steady', 'soft', 'hard')),
	cause         TEXT    NOT NULL DEFAULT '',
	bust          INTEGER NOT NULL CHECK (bust IN (0, 1)),
	bust_cause    TEXT    NOT NULL DEFAULT '',
	messages      INTEGER NOT NULL,
	kept          INTEGER NOT NULL,
	wire_messages INTEGER NOT NULL,
	wire_tokens   INTEGER NOT NULL,
	wire_bytes    INTEGER NOT NULL,
	prefix_tokens INTEGER NOT NULL, -- shared with the wire before
	chain         TEXT    NOT NULL,
	edits_added   INTEGER NOT NULL,
	input_tokens  INTEGER,
	cache_read    INTEGER,
	cache_write   INTEGER,
	pressure      REAL    NOT NULL,
	host_us       INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, pass),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Prices are per million tokens, in the currency of the source's catalogue.
CREATE TABLE model_limits (
	provider       TEXT    NOT NULL,
	model          TEXT    NOT NULL,
	context_tokens INTEGER NOT NULL,
	input_tokens   INTEGER NOT NULL,
	output_tokens  INTEGER NOT NULL,
	price_fresh    REAL    NOT NULL,
	price_write    REAL    NOT NULL,
	price_read     REAL    NOT NULL,
	price_output   REAL    NOT NULL,
	npm            TEXT    NOT NULL DEFAULT '',
	source         TEXT    NOT NULL DEFAULT '',
	at             INTEGER NOT NULL,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;
