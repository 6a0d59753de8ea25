-- Old history is summarised. A compartment stands for a range of raw messages, which are
-- numbered from 1 (their ordinals). The compartments of a session follow each other
-- without a gap, the first begins with message 1.
CREATE TABLE compartments (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	seq           INTEGER NOT NULL CHECK (seq >= 0),
	start_ordinal INTEGER NOT NULL CHECK (start_ordinal >= 1),
	end_ordinal   INTEGER NOT NULL,
	start_key     TEXT    NOT NULL DEFAULT '', -- keys of the first and the last message
	end_key       TEXT    NOT NULL DEFAULT '',
	title         TEXT    NOT NULL DEFAULT '',
	p1            TEXT    NOT NULL DEFAULT '', -- the four tiers, the longest first
	p2            TEXT    NOT NULL DEFAULT '',
	p3            TEXT    NOT NULL DEFAULT '',
	p4            TEXT    NOT NULL DEFAULT '',
	importance    INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	episode_type  TEXT    NOT NULL DEFAULT '',
	missing       TEXT    NOT NULL DEFAULT '', -- anchors of the raw range that no tier holds
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by = 'model' OR made_by = 'repaired' OR made_by = 'fallback' OR made_by = 'extractive'),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0, -- of the messages that it stands for
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;

-- A recomp that is not finished: the compartments that are to replace the stored ones.
CREATE TABLE recomp_compartments (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	seq           INTEGER NOT NULL CHECK (seq >= 0),
	start_ordinal INTEGER NOT NULL CHECK (start_ordinal >= 1),
	end_ordinal   INTEGER NOT NULL,
	start_key     TEXT    NOT NULL DEFAULT '',
	end_key       TEXT    NOT NULL DEFAULT '',
	title         TEXT    NOT NULL DEFAULT '',
	p1            TEXT    NOT NULL DEFAULT '',
	p2            TEXT    NOT NULL DEFAULT '',
	p3            TEXT    NOT NULL DEFAULT '',
	p4            TEXT    NOT NULL DEFAULT '',
	importance    INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	episode_type  TEXT    NOT NULL DEFAULT '',
	missing       TEXT    NOT NULL DEFAULT '',
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	made_by       TEXT    NOT NULL CHECK (made_by = 'model' OR made_by = 'repaired' OR made_by = 'fallback' OR made_by = 'extractive'),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;

-- What the historian noticed in a range of messages, for example a cause and its
-- effect. It belongs to the range and not to a compartment, because a recomp replaces
-- compartments.
CREATE TABLE compartment_events (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	event         INTEGER NOT NULL, -- 1, 2, 3 …
	start_ordinal INTEGER NOT NULL,
	end_ordinal   INTEGER NOT NULL,
	kind          TEXT    NOT NULL,
	fields        TEXT    NOT NULL DEFAULT '{}', -- JSON
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, event),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What the historian noticed about the user: candidates for the user's profile.
CREATE TABLE user_observations (
	harness       TEXT    NOT NULL,
	session_id    TEXT    NOT NULL,
	hash          TEXT    NOT NULL, -- of the normalised content, as in memories
	content       TEXT    NOT NULL,
	start_ordinal INTEGER NOT NULL,
	end_ordinal   INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, hash),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The head of a session's wire, as it was folded last.
CREATE TABLE heads (
	harness         TEXT    NOT NULL,
	session_id      TEXT    NOT NULL,
	epoch           INTEGER NOT NULL,
	generation      INTEGER NOT NULL, -- histories.generation of the compartments in it
	through_key     TEXT    NOT NULL DEFAULT '', -- the last message that the head stands for
	through_ordinal INTEGER NOT NULL DEFAULT 0,
	through_tag     INTEGER NOT NULL DEFAULT 0, -- the highest tag of a unit in those messages
	baseline        TEXT    NOT NULL DEFAULT '',
	acknowledgement TEXT    NOT NULL DEFAULT '',
	delta           TEXT    NOT NULL DEFAULT '',
	baseline_seq    INTEGER NOT NULL DEFAULT -1, -- the last compartment in it, -1 for none
	delta_seq       INTEGER NOT NULL DEFAULT -1,
	baseline_tokens INTEGER NOT NULL DEFAULT 0,
	delta_tokens    INTEGER NOT NULL DEFAULT 0,
	sections        TEXT    NOT NULL DEFAULT '{}', -- JSON
	memories        TEXT    NOT NULL DEFAULT '[]', -- ids of the memories in the baseline, JSON
	memory_id       INTEGER NOT NULL DEFAULT 0, -- the newest memory and the newest change of a memory in the baseline
	change_id       INTEGER NOT NULL DEFAULT 0,
	folded_pass     INTEGER NOT NULL DEFAULT 0,
	folded_at       INTEGER NOT NULL DEFAULT 0,
	fold_reason     TEXT    NOT NULL DEFAULT '',
	model_key       TEXT    NOT NULL DEFAULT '',
	docs_hash       TEXT    NOT NULL DEFAULT '',
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The state of a session's historian.
CREATE TABLE histories (
	harness        TEXT    NOT NULL,
	session_id     TEXT    NOT NULL,
	project        TEXT    NOT NULL DEFAULT '', -- identity of the project that the facts go to
	generation     INTEGER NOT NULL DEFAULT 0, -- raised when stored compartments are replaced or removed
	frontier       INTEGER NOT NULL DEFAULT 0, -- first ordinal that no run has summarised; no recomp lowers it
	-- the lease of the run under way; '' for none
	holder         TEXT    NOT NULL DEFAULT '',
	acquired_at    INTEGER NOT NULL DEFAULT 0,
	expires_at     INTEGER NOT NULL DEFAULT 0,
	cut            INTEGER NOT NULL DEFAULT 0, -- lowest ordinal that a revert took since then; 0 for none
	-- failures since the last success
	failures       INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
	last_error     TEXT    NOT NULL DEFAULT '',
	failed_at      INTEGER NOT NULL DEFAULT 0,
	retry_pass     INTEGER NOT NULL DEFAULT 0, -- no attempt before this pass
	-- pace
	throttle       TEXT    NOT NULL DEFAULT '', -- JSON
	no_head        INTEGER NOT NULL DEFAULT 0 CHECK (no_head >= 0), -- attempts in a row that found nothing to summarise
	-- the compaction marker in the harness's own history: the one to set, and the one that is set
	pending_marker TEXT    NOT NULL DEFAULT '',
	applied_marker TEXT    NOT NULL DEFAULT '',
	-- the recomp that is not finished: '', 'full', or 'partial' with its range
	recomp         TEXT    NOT NULL DEFAULT '' CHECK (recomp = '' OR recomp = 'full' OR recomp = 'partial'),
	recomp_start   INTEGER NOT NULL DEFAULT 0,
	recomp_end     INTEGER NOT NULL DEFAULT 0,
	-- sums over all runs, because old runs are forgotten
	runs           INTEGER NOT NULL DEFAULT 0,
	publishes      INTEGER NOT NULL DEFAULT 0,
	input_tokens   INTEGER NOT NULL DEFAULT 0,
	output_tokens  INTEGER NOT NULL DEFAULT 0,
	cache_read     INTEGER NOT NULL DEFAULT 0,
	cache_write    INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE historian_runs (
	harness         TEXT    NOT NULL,
	session_id      TEXT    NOT NULL,
	run             INTEGER NOT NULL, -- 1, 2, 3 …
	kind            TEXT    NOT NULL CHECK (kind = 'incremental' OR kind = 'recomp' OR kind = 'partial' OR kind = 'wrapup'),
	status          TEXT    NOT NULL CHECK (status = 'success' OR status = 'failed' OR status = 'noop'),
	reason          TEXT    NOT NULL DEFAULT '',
	pass            INTEGER NOT NULL, -- of the session, when the run began
	start_ordinal   INTEGER NOT NULL DEFAULT 0,
	end_ordinal     INTEGER NOT NULL DEFAULT 0,
	produced        INTEGER NOT NULL DEFAULT 0, -- compartments
	discarded_last  INTEGER NOT NULL DEFAULT 0 CHECK (discarded_last IN (0, 1)),
	facts           INTEGER NOT NULL DEFAULT 0,
	events          INTEGER NOT NULL DEFAULT 0,
	observations    INTEGER NOT NULL DEFAULT 0,
	importance_min  INTEGER NOT NULL DEFAULT 0,
	importance_max  INTEGER NOT NULL DEFAULT 0,
	importance_mean REAL    NOT NULL DEFAULT 0,
	fidelity        REAL    NOT NULL DEFAULT 0, -- mean of its compartments, weighted by their raw tokens
	made_by         TEXT    NOT NULL DEFAULT '',
	model           TEXT    NOT NULL DEFAULT '',
	input_tokens    INTEGER NOT NULL DEFAULT 0,
	output_tokens   INTEGER NOT NULL DEFAULT 0,
	cache_read      INTEGER NOT NULL DEFAULT 0,
	cache_write     INTEGER NOT NULL DEFAULT 0,
	started_at      INTEGER NOT NULL,
	ended_at        INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, run),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What is known about a project. All harnesses and sessions share it. An id is never
-- given twice, because a head names memories by it.
CREATE TABLE memories (
	id             INTEGER PRIMARY KEY AUTOINCREMENT,
	project        TEXT    NOT NULL, -- identity
	category       TEXT    NOT NULL,
	content        TEXT    NOT NULL,
	hash           TEXT    NOT NULL, -- MD5 of the normalised content, hex
	importance     INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	source         TEXT    NOT NULL CHECK (source = 'historian' OR source = 'agent' OR source = 'dreamer' OR source = 'user'),
	source_harness TEXT    NOT NULL DEFAULT '', -- the session that it was learned in
	source_session TEXT    NOT NULL DEFAULT '',
	status         TEXT    NOT NULL DEFAULT 'active' CHECK (status = 'active' OR status = 'permanent' OR status = 'archived'),
	superseded_by  INTEGER NOT NULL DEFAULT 0,
	seen_count     INTEGER NOT NULL DEFAULT 1,
	seen_at        INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL, -- of content, category, importance or status; being seen again is no change
	expires_at     INTEGER NOT NULL DEFAULT 0, -- 0 for never
	UNIQUE (project, category, hash)
) STRICT;

-- Changes of memories. A head that shows a memory learns from it that the memory has
-- changed since the fold.
CREATE TABLE memory_changes (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	project       TEXT    NOT NULL,
	kind          TEXT    NOT NULL CHECK (kind = 'update' OR kind = 'archive' OR kind = 'delete' OR kind = 'supersede'),
	memory        INTEGER NOT NULL,
	superseded_by INTEGER NOT NULL DEFAULT 0,
	category      TEXT    NOT NULL DEFAULT '', -- after an update
	content       TEXT    NOT NULL DEFAULT '',
	at            INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_changes_by_project ON memory_changes (project, id);

-- How many tokens a model's provider counts for one of ours.
CREATE TABLE token_ratios (
	provider TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	ratio    REAL    NOT NULL CHECK (ratio > 0),
	samples  INTEGER NOT NULL CHECK (samples >= 1),
	at       INTEGER NOT NULL,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;
