-- The schema of the database. docs/database.md describes the rows of each table. The database stores the text of these
-- statements, with the comments inside them, and a host recognises its schema by this text.

CREATE TABLE sessions (
	harness           TEXT    NOT NULL,
	session_id        TEXT    NOT NULL,
	directory         TEXT    NOT NULL DEFAULT '',
	project           TEXT    NOT NULL DEFAULT '', -- identity of the directory's project, '' while it is not known
	parent            TEXT    NOT NULL DEFAULT '',
	title             TEXT    NOT NULL DEFAULT '',
	mode              TEXT    NOT NULL DEFAULT 'primary' CHECK (mode = 'primary' OR mode = 'primary-no-reduce' OR mode = 'subagent' OR mode = 'subagent-no-reduce'),
	provider          TEXT    NOT NULL DEFAULT '',
	model             TEXT    NOT NULL DEFAULT '',
	agent             TEXT    NOT NULL DEFAULT '', -- of the harness, in the last pass
	limit_tokens      INTEGER NOT NULL DEFAULT 0, -- prompt limit by the harness's catalogue, in the last pass; 0 if unknown
	epoch             INTEGER NOT NULL DEFAULT 0,
	tag_counter       INTEGER NOT NULL DEFAULT 0, -- highest tag ever given, never lowered
	passes            INTEGER NOT NULL DEFAULT 0,
	busts             INTEGER NOT NULL DEFAULT 0,
	-- the last wire, and the raw messages behind it: length and hash chain, hex
	wire_messages     INTEGER NOT NULL DEFAULT 0,
	wire_chain        TEXT    NOT NULL DEFAULT '',
	raw_messages      INTEGER NOT NULL DEFAULT 0,
	raw_chain         TEXT    NOT NULL DEFAULT '',
	raw_tokens        INTEGER NOT NULL DEFAULT 0, -- the next prompt without magicctx; 0 if unknown
	-- as reported by the provider, summed over the passes
	input_tokens      INTEGER NOT NULL DEFAULT 0,
	cache_read        INTEGER NOT NULL DEFAULT 0,
	cache_write       INTEGER NOT NULL DEFAULT 0,
	prompt_tokens     INTEGER NOT NULL DEFAULT 0, -- whole prompt of the newest pass whose usage is known
	-- the system prompt
	sticky_date       TEXT    NOT NULL DEFAULT '',
	sticky_date_epoch INTEGER NOT NULL DEFAULT 0,
	system_hash       TEXT    NOT NULL DEFAULT '',
	system_tokens     INTEGER NOT NULL DEFAULT 0,
	system_text       TEXT    NOT NULL DEFAULT '', -- while it is frozen, JSON
	system_preamble   INTEGER NOT NULL DEFAULT 0, -- the preamble for which it is frozen
	system_pending    INTEGER NOT NULL DEFAULT 0 CHECK (system_pending IN (0, 1)),
	system_at         INTEGER NOT NULL DEFAULT 0,
	-- setup
	profile           TEXT    NOT NULL DEFAULT '',
	binds             INTEGER NOT NULL DEFAULT 0 CHECK (binds IN (0, 1)),
	preamble          INTEGER NOT NULL DEFAULT 0,
	show_gaps         INTEGER NOT NULL DEFAULT 0 CHECK (show_gaps IN (0, 1)),
	todo_message      TEXT    NOT NULL DEFAULT '',
	todo_state        TEXT    NOT NULL DEFAULT '',
	reclaim_up_to     INTEGER NOT NULL DEFAULT 0,
	-- thinking that the passes have invalidated
	lost_blocks       INTEGER NOT NULL DEFAULT 0,
	lost_tokens       INTEGER NOT NULL DEFAULT 0,
	-- episode of pressure
	relief_of         TEXT    NOT NULL DEFAULT '',
	relief_tokens     INTEGER NOT NULL DEFAULT 0,
	stuck_tag         INTEGER NOT NULL DEFAULT 0,
	stuck_grace       INTEGER NOT NULL DEFAULT 0,
	stuck_band        INTEGER NOT NULL DEFAULT 0,
	-- gauge
	gauge_of          TEXT    NOT NULL DEFAULT '',
	gauge_tokens      INTEGER NOT NULL DEFAULT 0,
	gauge_own         INTEGER NOT NULL DEFAULT 0,
	gauge_base        INTEGER NOT NULL DEFAULT 0,
	-- the messages after the head, in tokens
	tail_text         INTEGER NOT NULL DEFAULT 0,
	tail_files        INTEGER NOT NULL DEFAULT 0,
	tail_inputs       INTEGER NOT NULL DEFAULT 0,
	tail_results      INTEGER NOT NULL DEFAULT 0,
	-- rent
	rent_paid         INTEGER NOT NULL DEFAULT 0,
	rent_coverable    INTEGER NOT NULL DEFAULT 0,
	rent_removable    INTEGER NOT NULL DEFAULT 0,
	rent_queued       INTEGER NOT NULL DEFAULT 0,
	rent_messages     INTEGER NOT NULL DEFAULT 0,
	rent_price        INTEGER NOT NULL DEFAULT 0,
	rent_grew_at      INTEGER NOT NULL DEFAULT 0,
	-- what the next pass has to do
	explicit_flush    INTEGER NOT NULL DEFAULT 0 CHECK (explicit_flush IN (0, 1)),
	overflow_at       INTEGER NOT NULL DEFAULT 0,
	overflow_pass     INTEGER NOT NULL DEFAULT 0,
	overflow_tokens   INTEGER NOT NULL DEFAULT 0,
	last_pass_at      INTEGER NOT NULL DEFAULT 0,
	updated_at        INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE units (
	harness      TEXT    NOT NULL,
	session_id   TEXT    NOT NULL,
	tag          INTEGER NOT NULL,
	unit_key     TEXT    NOT NULL,
	message_key  TEXT    NOT NULL,
	kind         TEXT    NOT NULL CHECK (kind = 'text' OR kind = 'file' OR kind = 'tool'),
	tool         TEXT    NOT NULL DEFAULT '',
	bytes        INTEGER NOT NULL,
	tokens       INTEGER NOT NULL,
	input_bytes  INTEGER NOT NULL DEFAULT 0,
	input_tokens INTEGER NOT NULL DEFAULT 0,
	gap_seconds  INTEGER NOT NULL DEFAULT 0,
	note         TEXT    NOT NULL DEFAULT '',
	typed        TEXT    NOT NULL DEFAULT '', -- what the user typed, if this is the template of a command
	fingerprint  INTEGER NOT NULL DEFAULT 0, -- the same in a copy of the session; 0 if unknown
	kept         INTEGER NOT NULL DEFAULT 0, -- when the user asked to keep the content, Unix ms; 0 if it is not kept
	PRIMARY KEY (harness, session_id, tag),
	UNIQUE (harness, session_id, unit_key),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX units_by_message ON units (harness, session_id, message_key);

CREATE INDEX units_by_fingerprint ON units (harness, fingerprint) WHERE fingerprint <> 0;

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

CREATE TABLE unit_sums (
	harness        TEXT    NOT NULL,
	session_id     TEXT    NOT NULL,
	units          INTEGER NOT NULL,
	-- of them, those with an edit that takes the content off the wire
	dropped_units  INTEGER NOT NULL DEFAULT 0,
	dropped_tokens INTEGER NOT NULL DEFAULT 0, -- a skeleton keeps its input
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TRIGGER unit_added AFTER INSERT ON units
BEGIN
	INSERT INTO unit_sums (harness, session_id, units)
	VALUES (new.harness, new.session_id, 1)
	ON CONFLICT (harness, session_id) DO UPDATE SET units = units + 1;
END;

CREATE TRIGGER unit_removed AFTER DELETE ON units
BEGIN
	UPDATE unit_sums SET units = units - 1
	WHERE harness = old.harness AND session_id = old.session_id;
END;

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
	WHERE unit_sums.harness = new.harness AND unit_sums.session_id = new.session_id
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
	WHERE unit_sums.harness = old.harness AND unit_sums.session_id = old.session_id
		AND u.harness = old.harness AND u.session_id = old.session_id AND u.tag = old.tag;
END;

CREATE TRIGGER input_dropped AFTER INSERT ON edits
WHEN new.kind = 'drop'
BEGIN
	UPDATE unit_sums SET dropped_tokens = dropped_tokens + u.input_tokens
	FROM units AS u
	WHERE unit_sums.harness = new.harness AND unit_sums.session_id = new.session_id
		AND u.harness = new.harness AND u.session_id = new.session_id AND u.tag = new.tag;
END;

CREATE TRIGGER input_restored AFTER DELETE ON edits
WHEN old.kind = 'drop'
BEGIN
	UPDATE unit_sums SET dropped_tokens = dropped_tokens - u.input_tokens
	FROM units AS u
	WHERE unit_sums.harness = old.harness AND unit_sums.session_id = old.session_id
		AND u.harness = old.harness AND u.session_id = old.session_id AND u.tag = old.tag;
END;

CREATE TABLE queued_drops (
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	tag        INTEGER NOT NULL,
	unit_key   TEXT    NOT NULL DEFAULT '',
	queued_at  INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, tag),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE thinking (
	harness     TEXT    NOT NULL,
	session_id  TEXT    NOT NULL,
	message_key TEXT    NOT NULL,
	prompt      TEXT    NOT NULL,
	lost_pass   INTEGER NOT NULL DEFAULT 0, -- the pass that changed the prompt; 0 while it stands
	PRIMARY KEY (harness, session_id, message_key),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE passes (
	harness         TEXT    NOT NULL,
	session_id      TEXT    NOT NULL,
	pass            INTEGER NOT NULL,
	at              INTEGER NOT NULL,
	verdict         TEXT    NOT NULL CHECK (verdict = 'steady' OR verdict = 'soft' OR verdict = 'hard'),
	cause           TEXT    NOT NULL DEFAULT '',
	bust            INTEGER NOT NULL CHECK (bust IN (0, 1)),
	bust_cause      TEXT    NOT NULL DEFAULT '',
	pressure        REAL    NOT NULL,
	size_tokens     INTEGER NOT NULL DEFAULT 0,
	goal_tokens     INTEGER NOT NULL DEFAULT 0,
	edits_added     INTEGER NOT NULL,
	messages        INTEGER NOT NULL,
	wire_messages   INTEGER NOT NULL,
	wire_tokens     INTEGER NOT NULL,
	prefix_tokens   INTEGER NOT NULL, -- shared with the wire before
	-- as reported by the provider; NULL until then
	input_tokens    INTEGER,
	cache_read      INTEGER,
	cache_write     INTEGER,
	-- the price of the bust
	resent_tokens   INTEGER NOT NULL DEFAULT 0,
	removed_tokens  INTEGER NOT NULL DEFAULT 0,
	break_even      REAL    NOT NULL DEFAULT 0,
	forecast        INTEGER NOT NULL DEFAULT 0,
	thinking_tokens INTEGER NOT NULL DEFAULT 0,
	cost_tokens     INTEGER NOT NULL DEFAULT 0,
	rent_tokens     INTEGER NOT NULL DEFAULT 0,
	-- thinking that the pass has invalidated
	lost_blocks     INTEGER NOT NULL DEFAULT 0,
	lost_tokens     INTEGER NOT NULL DEFAULT 0,
	-- the head
	fold_reason     TEXT    NOT NULL DEFAULT '',
	baseline_tokens INTEGER NOT NULL DEFAULT 0,
	delta_tokens    INTEGER NOT NULL DEFAULT 0,
	-- other parts of the wire
	memory_tokens    INTEGER NOT NULL DEFAULT 0, -- in the head
	tool_tokens      INTEGER NOT NULL DEFAULT 0, -- calls and results
	reasoning_tokens INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id, pass),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX passes_busts ON passes (harness, session_id, bust_cause) WHERE bust = 1;

CREATE INDEX passes_priced ON passes (harness, session_id, pass) WHERE resent_tokens + removed_tokens > 0;

CREATE INDEX passes_folds ON passes (harness, session_id, fold_reason) WHERE fold_reason <> '';

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

CREATE TABLE tool_replies (
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	call_id    TEXT    NOT NULL,
	reply      TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, call_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A line by which the host has told the model what an earlier message says.
CREATE TABLE recalls (
	harness        TEXT    NOT NULL,
	session_id     TEXT    NOT NULL,
	tag            INTEGER NOT NULL, -- of the unit at whose end it stands
	pass           INTEGER NOT NULL,
	source_session TEXT    NOT NULL DEFAULT '',
	ordinal        INTEGER NOT NULL DEFAULT 0,
	fact           INTEGER NOT NULL, -- hash of what it says
	names          TEXT    NOT NULL DEFAULT '', -- the files and commands that it names, JSON
	tokens         INTEGER NOT NULL,
	acted_pass     INTEGER NOT NULL DEFAULT 0, -- the pass in which the model followed it
	PRIMARY KEY (harness, session_id, tag, fact),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE nudges (
	harness     TEXT    NOT NULL,
	session_id  TEXT    NOT NULL,
	-- the reminders at tool outputs: how much there was to drop at the last, and its tone
	undropped   INTEGER NOT NULL DEFAULT 0,
	level       TEXT    NOT NULL DEFAULT '' CHECK (level IN ('', 'gentle', 'firm', 'urgent')),
	has_message INTEGER NOT NULL DEFAULT 0 CHECK (has_message IN (0, 1)), -- the one message of the session's life was sent
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE heads (
	harness         TEXT    NOT NULL,
	session_id      TEXT    NOT NULL,
	epoch           INTEGER NOT NULL,
	generation      INTEGER NOT NULL, -- histories.generation of the compartments in it
	through_key     TEXT    NOT NULL DEFAULT '', -- the last message that the head stands for
	through_ordinal INTEGER NOT NULL DEFAULT 0,
	after_summary   TEXT    NOT NULL DEFAULT '', -- of the newest compartment in it
	pinned          TEXT    NOT NULL DEFAULT '[]', -- keys of the pinned prompts, JSON
	baseline        TEXT    NOT NULL DEFAULT '',
	acknowledgement TEXT    NOT NULL DEFAULT '',
	delta           TEXT    NOT NULL DEFAULT '',
	baseline_seq    INTEGER NOT NULL DEFAULT -1, -- the last compartment in it, -1 for none
	delta_seq       INTEGER NOT NULL DEFAULT -1,
	baseline_tokens INTEGER NOT NULL DEFAULT 0,
	delta_tokens    INTEGER NOT NULL DEFAULT 0,
	sections        TEXT    NOT NULL DEFAULT '{}', -- JSON
	docs_hash       TEXT    NOT NULL DEFAULT '',
	memories        TEXT    NOT NULL DEFAULT '[]', -- ids of the memories in the baseline, JSON
	key_files       TEXT    NOT NULL DEFAULT '', -- in the baseline, a line "HASH PATH" for each
	memory_id       INTEGER NOT NULL DEFAULT 0, -- the newest memory and the newest change of a memory in the baseline
	change_id       INTEGER NOT NULL DEFAULT 0,
	folded_pass     INTEGER NOT NULL DEFAULT 0,
	folded_at       INTEGER NOT NULL DEFAULT 0,
	fold_reason     TEXT    NOT NULL DEFAULT '',
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE compartments (
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
	rules         TEXT    NOT NULL DEFAULT '[]', -- the user's lasting rules in the raw range, JSON
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by IN ('model', 'repaired', 'fallback', 'extractive', 'harness')),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0, -- of the messages that it stands for
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX compartments_figures ON compartments (harness, session_id, fidelity, start_ordinal, end_ordinal, raw_tokens, made_by);

CREATE TABLE recomp_compartments (
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
	rules         TEXT    NOT NULL DEFAULT '[]',
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by IN ('model', 'repaired', 'fallback', 'extractive', 'harness')),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;

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
	rules         TEXT    NOT NULL DEFAULT '[]',
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by IN ('model', 'repaired', 'fallback', 'extractive', 'harness')),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE histories (
	harness        TEXT    NOT NULL,
	session_id     TEXT    NOT NULL,
	generation     INTEGER NOT NULL DEFAULT 0, -- raised when stored compartments are replaced or removed
	publishes      INTEGER NOT NULL DEFAULT 0,
	extracted      INTEGER NOT NULL DEFAULT 0, -- of them, those that no model has made
	-- the compaction marker in the harness's own history: the one to set, and the one that is set
	pending_marker TEXT    NOT NULL DEFAULT '',
	applied_marker TEXT    NOT NULL DEFAULT '',
	-- the recomp that is not finished: '', 'full', or 'partial' with its range
	recomp         TEXT    NOT NULL DEFAULT '' CHECK (recomp = '' OR recomp = 'full' OR recomp = 'partial'),
	recomp_start   INTEGER NOT NULL DEFAULT 0,
	recomp_end     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The work of an agent for a subject: a session, or a project. The row of a session also names the session in
-- harness and session_id, so that it is deleted with the session. In a project's row, session_id is NULL.
CREATE TABLE agent_work (
	subject       TEXT    NOT NULL, -- store.Subject as a text
	agent         TEXT    NOT NULL,
	harness       TEXT,
	session_id    TEXT,
	-- the lease of the run under way; '' for none
	holder        TEXT    NOT NULL DEFAULT '',
	acquired_at   INTEGER NOT NULL DEFAULT 0,
	expires_at    INTEGER NOT NULL DEFAULT 0,
	cut           INTEGER NOT NULL DEFAULT 0, -- lowest ordinal that a revert of the session took since then; 0 for none
	-- pace: the failures since the last success, and how soon a run may begin
	failures      INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
	last_error    TEXT    NOT NULL DEFAULT '',
	failed_at     INTEGER NOT NULL DEFAULT 0,
	retry         INTEGER NOT NULL DEFAULT 0, -- no attempt before this pass of the session; for a project, this time
	throttle      TEXT    NOT NULL DEFAULT '', -- JSON
	unfinished    TEXT    NOT NULL DEFAULT '', -- JSON: what a run has done that has not ended yet; '' for none
	stopped       TEXT    NOT NULL DEFAULT '', -- JSON: why the budget did not pay for its newest call; '' if it did
	-- sums over all runs, because old runs are forgotten
	runs          INTEGER NOT NULL DEFAULT 0,
	input_tokens  INTEGER NOT NULL DEFAULT 0,
	output_tokens INTEGER NOT NULL DEFAULT 0,
	cache_read    INTEGER NOT NULL DEFAULT 0,
	cache_write   INTEGER NOT NULL DEFAULT 0,
	CHECK (subject IS 'session ' || harness || '/' || session_id OR subject LIKE 'project %' AND session_id IS NULL),
	PRIMARY KEY (subject, agent),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX agent_work_of_session ON agent_work (harness, session_id);

CREATE TABLE agent_runs (
	subject            TEXT    NOT NULL,
	agent              TEXT    NOT NULL,
	run                INTEGER NOT NULL, -- 1, 2, 3 …
	harness            TEXT,
	session_id         TEXT,
	status             TEXT    NOT NULL CHECK (status = 'success' OR status = 'failed' OR status = 'noop'),
	reason             TEXT    NOT NULL DEFAULT '',
	model              TEXT    NOT NULL DEFAULT '',
	input_tokens       INTEGER NOT NULL DEFAULT 0,
	output_tokens      INTEGER NOT NULL DEFAULT 0,
	cache_read         INTEGER NOT NULL DEFAULT 0,
	cache_write        INTEGER NOT NULL DEFAULT 0,
	started_at         INTEGER NOT NULL,
	ended_at           INTEGER NOT NULL,
	-- of the historian
	kind               TEXT    NOT NULL DEFAULT '' CHECK (kind = '' OR kind = 'incremental' OR kind = 'recomp' OR kind = 'partial' OR kind = 'wrapup'),
	pass               INTEGER NOT NULL DEFAULT 0, -- of the session, when the run began
	start_ordinal      INTEGER NOT NULL DEFAULT 0,
	end_ordinal        INTEGER NOT NULL DEFAULT 0,
	produced           INTEGER NOT NULL DEFAULT 0, -- compartments
	fidelity           REAL    NOT NULL DEFAULT 0, -- mean of its compartments, weighted by their raw tokens
	made_by            TEXT    NOT NULL DEFAULT '',
	unconfirmed_quotes INTEGER NOT NULL DEFAULT 0,
	unconfirmed_facts  INTEGER NOT NULL DEFAULT 0,
	CHECK (subject IS 'session ' || harness || '/' || session_id OR subject LIKE 'project %' AND session_id IS NULL),
	PRIMARY KEY (subject, agent, run),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX agent_runs_of_session ON agent_runs (harness, session_id);

-- One question of an agent to a model. If its session is deleted, the row stays, because the money is spent.
CREATE TABLE agent_calls (
	id            INTEGER PRIMARY KEY,
	at            INTEGER NOT NULL,
	project       TEXT    NOT NULL, -- identity, '' if it is not known
	directory     TEXT    NOT NULL,
	agent         TEXT    NOT NULL,
	harness       TEXT, -- of the session on which the agent worked; NULL if it worked on the project
	session       TEXT,
	holder        TEXT    NOT NULL, -- of the lease of its run
	model         TEXT    NOT NULL,
	input_tokens  INTEGER NOT NULL,
	output_tokens INTEGER NOT NULL,
	cache_read    INTEGER NOT NULL,
	cache_write   INTEGER NOT NULL,
	cost          INTEGER, -- in billionths of a dollar; NULL if the harness names no price, or if the call has not ended
	-- what a budget counts: the worst case until the call has ended, then the tokens and the cost. Without a price, the
	-- dearest known one counts
	counted        INTEGER NOT NULL,
	counted_tokens INTEGER NOT NULL,
	is_open        INTEGER NOT NULL CHECK (is_open IN (0, 1)), -- the call has not ended, or nobody knows how it has
	-- what its run has published
	compartments  INTEGER NOT NULL DEFAULT 0,
	memories      INTEGER NOT NULL DEFAULT 0,
	findings      INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX agent_calls_by_time ON agent_calls (at);
CREATE INDEX agent_calls_of_session ON agent_calls (harness, session);

CREATE TABLE memories (
	id             INTEGER PRIMARY KEY AUTOINCREMENT,
	project        TEXT    NOT NULL, -- identity
	category       TEXT    NOT NULL,
	content        TEXT    NOT NULL,
	hash           TEXT    NOT NULL, -- MD5 of the normalised content, hex
	importance     INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	source         TEXT    NOT NULL CHECK (source IN ('historian', 'user', 'agent', 'tool', 'web')),
	source_harness TEXT    NOT NULL DEFAULT '', -- the session that it was learned in
	source_session TEXT    NOT NULL DEFAULT '',
	source_message INTEGER NOT NULL DEFAULT 0, -- ordinal of the message in that session, 0 if it is not known
	directory      TEXT    NOT NULL DEFAULT '', -- of the session that learned the memory last
	status         TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'permanent', 'proposed', 'archived', 'superseded')),
	superseded_by  INTEGER NOT NULL DEFAULT 0,
	seen_count     INTEGER NOT NULL DEFAULT 1,
	seen_at        INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL, -- of content, category, importance or status; being seen again is no change
	expires_at     INTEGER NOT NULL DEFAULT 0, -- 0 for never
	test           TEXT    NOT NULL DEFAULT '', -- what must be true in the project, for example "go.mod: go 1.26"
	doubt          TEXT    NOT NULL DEFAULT '', -- why the newest test failed
	UNIQUE (project, category, hash)
) STRICT;

CREATE TABLE memory_changes (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	project       TEXT    NOT NULL, -- of the memory; another one if the memory is no longer shared with it, or again
	kind          TEXT    NOT NULL CHECK (kind IN ('update', 'archive', 'delete', 'supersede', 'restore')),
	memory        INTEGER NOT NULL,
	superseded_by INTEGER NOT NULL DEFAULT 0,
	category      TEXT    NOT NULL DEFAULT '', -- after an update or a restore
	content       TEXT    NOT NULL DEFAULT '', -- the same, or the reason of an archive
	run           INTEGER NOT NULL DEFAULT 0, -- of the project's dreamer, 0 for a change by somebody else
	at            INTEGER NOT NULL
) STRICT;

CREATE INDEX memory_changes_by_project ON memory_changes (project, id);

-- An observation of the historian about the user. When enough sessions have made the same observation, it becomes a
-- memory of the project 'user', and its rows are deleted here.
CREATE TABLE user_candidates (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	message    INTEGER NOT NULL, -- ordinal
	words      TEXT    NOT NULL, -- hash of the user's words that show it
	content    TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT;

CREATE INDEX user_candidates_of_session ON user_candidates (harness, session_id);

-- A workspace is a group of projects. Each project sees those memories of the other projects whose category is shared.
CREATE TABLE workspaces (
	name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE workspace_shares (
	workspace TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
	category  TEXT NOT NULL,
	PRIMARY KEY (workspace, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE workspace_members (
	project   TEXT NOT NULL PRIMARY KEY, -- identity; a project is in one workspace at most
	workspace TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
	name      TEXT NOT NULL, -- by which the others know the project
	UNIQUE (workspace, name)
) STRICT, WITHOUT ROWID;

-- A note with a condition, and a promise, belong to their project. Any other note belongs to its session.
CREATE TABLE notes (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	harness    TEXT, -- NULL for a note of a project
	session_id TEXT,
	-- of a promise: who has said it, and in which session
	said_by        TEXT NOT NULL DEFAULT '' CHECK (said_by IN ('', 'user', 'agent')),
	source_harness TEXT NOT NULL DEFAULT '',
	source_session TEXT NOT NULL DEFAULT '',
	project    TEXT    NOT NULL DEFAULT '', -- identity
	message    INTEGER NOT NULL DEFAULT 0, -- ordinal of the message that wrote it, 0 if it is not known
	content    TEXT    NOT NULL,
	condition  TEXT    NOT NULL DEFAULT '',
	status     TEXT    NOT NULL CHECK (status IN ('active', 'pending', 'ready', 'done', 'dismissed')),
	reason     TEXT    NOT NULL DEFAULT '', -- why the condition of a ready note holds, or where a promise was closed
	told       INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)), -- a model was told that it is ready
	seen       TEXT    NOT NULL DEFAULT '', -- the newest commit of the branch for which it waits, not merged
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	CHECK ((session_id IS NULL) = (condition <> '' OR said_by <> '')),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT;

CREATE INDEX notes_of_session ON notes (harness, session_id);
CREATE INDEX notes_of_project ON notes (project);

-- The rows that were imported from the TypeScript plugin. A later import leaves them out, even if they were changed
-- or deleted here.
CREATE TABLE imported (
	hash TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE tidies (
	at INTEGER NOT NULL PRIMARY KEY
) STRICT;

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
	at             INTEGER NOT NULL,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_windows (
	provider        TEXT    NOT NULL,
	model           TEXT    NOT NULL,
	overflow_tokens INTEGER NOT NULL DEFAULT 0,
	overflow_at     INTEGER NOT NULL DEFAULT 0,
	accepted_tokens INTEGER NOT NULL DEFAULT 0,
	accepted_at     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE cache_lives (
	provider TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	life_ms  INTEGER NOT NULL DEFAULT 0 CHECK (life_ms >= 0),
	missed   INTEGER NOT NULL DEFAULT 0 CHECK (missed IN (0, 1)), -- shortened by misses, not lengthened by a read
	at       INTEGER NOT NULL DEFAULT 0,
	-- the misses that no read has contradicted since, and the pauses before them
	misses   INTEGER NOT NULL DEFAULT 0 CHECK (misses >= 0),
	least_ms INTEGER NOT NULL DEFAULT 0,
	most_ms  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE token_ratios (
	provider TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	ratio    REAL    NOT NULL CHECK (ratio > 0),
	samples  INTEGER NOT NULL CHECK (samples >= 1),
	at       INTEGER NOT NULL,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;
