-- The schema of the database. docs/database.md describes the rows of each table. The database stores the text of
-- these statements, with the comments inside them, and a host recognises its schema by this text.
--
-- Times are in Unix ms. Unless a comment says otherwise, 0 or '' means "none" or "unknown".

CREATE TABLE sessions (
	harness           TEXT    NOT NULL,
	session_id        TEXT    NOT NULL,
	directory         TEXT    NOT NULL DEFAULT '',
	-- project is the identity of the directory's project, '' while it is unknown. parent is the id of the session that
	-- started this one, '' if there is none. title is the harness's title of the session.
	project           TEXT    NOT NULL DEFAULT '',
	parent            TEXT    NOT NULL DEFAULT '',
	title             TEXT    NOT NULL DEFAULT '',
	mode              TEXT    NOT NULL DEFAULT 'primary' CHECK (mode = 'primary' OR mode = 'primary-no-reduce' OR mode = 'subagent' OR mode = 'subagent-no-reduce'),
	-- provider, model, agent and limit_tokens are those of the newest pass. agent is the harness's name for the agent,
	-- for example 'build'. limit_tokens is the prompt limit in the harness's catalogue, 0 if it is unknown.
	provider          TEXT    NOT NULL DEFAULT '',
	model             TEXT    NOT NULL DEFAULT '',
	agent             TEXT    NOT NULL DEFAULT '',
	limit_tokens      INTEGER NOT NULL DEFAULT 0,
	-- epoch is the number of hard passes. tag_counter is the highest tag that was ever given; it never falls. passes
	-- and busts count all passes and all busts.
	epoch             INTEGER NOT NULL DEFAULT 0,
	tag_counter       INTEGER NOT NULL DEFAULT 0,
	passes            INTEGER NOT NULL DEFAULT 0,
	busts             INTEGER NOT NULL DEFAULT 0,
	-- wire_messages and wire_chain are the number of messages in the last wire and the hash chain over them, in hex.
	-- raw_messages and raw_chain are the same for the harness's messages from which that wire was made. raw_tokens is
	-- the estimated size of the next prompt without magicctx, 0 if it is unknown.
	wire_messages     INTEGER NOT NULL DEFAULT 0,
	wire_chain        TEXT    NOT NULL DEFAULT '',
	raw_messages      INTEGER NOT NULL DEFAULT 0,
	raw_chain         TEXT    NOT NULL DEFAULT '',
	raw_tokens        INTEGER NOT NULL DEFAULT 0,
	-- input_tokens (tokens outside the cache), cache_read and cache_write are the tokens that the provider reported,
	-- summed over all passes. prompt_tokens is the whole prompt of the newest pass for which the provider reported a
	-- usage.
	input_tokens      INTEGER NOT NULL DEFAULT 0,
	cache_read        INTEGER NOT NULL DEFAULT 0,
	cache_write       INTEGER NOT NULL DEFAULT 0,
	prompt_tokens     INTEGER NOT NULL DEFAULT 0,
	-- The system prompt. sticky_date is the date in it. The host keeps an old date, so that midnight does not bust the
	-- prefix. sticky_date_epoch is the epoch in which the date was set. system_hash is the SHA-256 of the prompt
	-- without the date, in hex, '' before the first prompt. system_tokens is the size of the prompt.
	sticky_date       TEXT    NOT NULL DEFAULT '',
	sticky_date_epoch INTEGER NOT NULL DEFAULT 0,
	system_hash       TEXT    NOT NULL DEFAULT '',
	system_tokens     INTEGER NOT NULL DEFAULT 0,
	-- For a model with bound thinking, the host freezes the system prompt. system_text is the frozen prompt, a JSON
	-- array of strings, '' if none is frozen. It was frozen at system_at (Unix ms), for the preamble with the number
	-- system_preamble.
	system_text       TEXT    NOT NULL DEFAULT '',
	system_preamble   INTEGER NOT NULL DEFAULT 0,
	-- 1 if the harness's system prompt now differs from the prompt of the newest stored pass.
	system_pending    INTEGER NOT NULL DEFAULT 0 CHECK (system_pending IN (0, 1)),
	system_at         INTEGER NOT NULL DEFAULT 0,
	-- Setup. profile is the name of the provider's profile. binds is 1 if the model's thinking is bound. preamble
	-- counts the changes of the preamble so far. show_gaps is 1 if the wire marks long pauses. todo_message is the key
	-- of the message with the synthetic todo list, and todo_state is the list in JSON; both are '' if there is no list.
	-- reclaim_up_to is the highest tag that an earlier pass was allowed to drop.
	profile           TEXT    NOT NULL DEFAULT '',
	binds             INTEGER NOT NULL DEFAULT 0 CHECK (binds IN (0, 1)),
	preamble          INTEGER NOT NULL DEFAULT 0,
	show_gaps         INTEGER NOT NULL DEFAULT 0 CHECK (show_gaps IN (0, 1)),
	todo_message      TEXT    NOT NULL DEFAULT '',
	todo_state        TEXT    NOT NULL DEFAULT '',
	reclaim_up_to     INTEGER NOT NULL DEFAULT 0,
	-- lost_blocks and lost_tokens are the number and the size of the thinking blocks that all passes have invalidated.
	lost_blocks       INTEGER NOT NULL DEFAULT 0,
	lost_tokens       INTEGER NOT NULL DEFAULT 0,
	-- Episode. relief_tokens is the number of tokens that busts have freed since the usage with the name relief_of (for
	-- example 'msg_1/52000'). stuck_tag, stuck_grace and stuck_band describe the moment when the episode got stuck: the
	-- highest tag, the value of reclaim_up_to, and the pressure (1 below 85 %, 2 below 95 %, 3 above). They are 0 if
	-- the episode is not stuck.
	relief_of         TEXT    NOT NULL DEFAULT '',
	relief_tokens     INTEGER NOT NULL DEFAULT 0,
	stuck_tag         INTEGER NOT NULL DEFAULT 0,
	stuck_grace       INTEGER NOT NULL DEFAULT 0,
	stuck_band        INTEGER NOT NULL DEFAULT 0,
	-- Gauge: the newest usage, compared with the host's own count. gauge_of names the usage. gauge_tokens is the size
	-- that the host assumes for its prompt, usually the reported size. gauge_own is the host's count of the messages in
	-- this prompt, and gauge_base is the estimated size of the rest: system prompt and tools. Before the first usage,
	-- they are '' and 0.
	gauge_of          TEXT    NOT NULL DEFAULT '',
	gauge_tokens      INTEGER NOT NULL DEFAULT 0,
	gauge_own         INTEGER NOT NULL DEFAULT 0,
	gauge_base        INTEGER NOT NULL DEFAULT 0,
	-- The sizes of the units after the head that are still on the wire, in tokens: texts, files, arguments of calls,
	-- and results of calls.
	tail_text         INTEGER NOT NULL DEFAULT 0,
	tail_files        INTEGER NOT NULL DEFAULT 0,
	tail_inputs       INTEGER NOT NULL DEFAULT 0,
	tail_results      INTEGER NOT NULL DEFAULT 0,
	-- Rent. The unit of rent_paid, rent_coverable and rent_price is the price of reading one token from the cache.
	-- rent_paid is the rent since the last bust. rent_coverable is the rent, since the last change of the head, for
	-- messages that a summary could replace. At the newest estimate, a bust would have removed rent_removable tokens,
	-- of which rent_queued belonged to queued drops, and the session had rent_messages messages. rent_price is the
	-- price that the bust had when the last lump came, or a lower later estimate. The lump came on the pass
	-- rent_grew_at.
	rent_paid         INTEGER NOT NULL DEFAULT 0,
	rent_coverable    INTEGER NOT NULL DEFAULT 0,
	rent_removable    INTEGER NOT NULL DEFAULT 0,
	rent_queued       INTEGER NOT NULL DEFAULT 0,
	rent_messages     INTEGER NOT NULL DEFAULT 0,
	rent_price        INTEGER NOT NULL DEFAULT 0,
	rent_grew_at      INTEGER NOT NULL DEFAULT 0,
	-- explicit_flush is 1 from the user's request to apply all queued work until a pass has done so. overflow_at is the
	-- time of the provider's last refusal, 0 once the prompts fit again. overflow_pass is the pass whose prompt was
	-- refused, 0 if none ever was. overflow_tokens is the size of this prompt by the provider's error, 0 if the error
	-- does not name it.
	explicit_flush    INTEGER NOT NULL DEFAULT 0 CHECK (explicit_flush IN (0, 1)),
	overflow_at       INTEGER NOT NULL DEFAULT 0,
	overflow_pass     INTEGER NOT NULL DEFAULT 0,
	overflow_tokens   INTEGER NOT NULL DEFAULT 0,
	-- last_pass_at is the time of the newest pass, 0 if there is none. updated_at is the time of the newest change of
	-- the row.
	last_pass_at      INTEGER NOT NULL DEFAULT 0,
	updated_at        INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE units (
	harness      TEXT    NOT NULL,
	session_id   TEXT    NOT NULL,
	tag          INTEGER NOT NULL,
	-- unit_key is the harness's identity of the part. message_key is the key of its message. tool is the name of the
	-- tool, '' for texts and files.
	unit_key     TEXT    NOT NULL,
	message_key  TEXT    NOT NULL,
	kind         TEXT    NOT NULL CHECK (kind = 'text' OR kind = 'file' OR kind = 'tool'),
	tool         TEXT    NOT NULL DEFAULT '',
	-- bytes and tokens are the size of the content: for a tool, the size of the result. input_bytes and input_tokens
	-- are the size of the call's arguments, 0 for texts and files.
	bytes        INTEGER NOT NULL,
	tokens       INTEGER NOT NULL,
	input_bytes  INTEGER NOT NULL DEFAULT 0,
	input_tokens INTEGER NOT NULL DEFAULT 0,
	-- gap_seconds is the length of the pause that a mark in front of the message shows, 0 if there is no mark. note is
	-- the host's text at the end of the content, '' if there is none.
	gap_seconds  INTEGER NOT NULL DEFAULT 0,
	note         TEXT    NOT NULL DEFAULT '',
	-- If the user typed a command, the content is the command's template, and typed is the typed line, for example
	-- '/review main'. Otherwise typed is ''.
	typed        TEXT    NOT NULL DEFAULT '',
	-- A unit and its copy in a fork have the same fingerprint. It is 0 if it is unknown.
	fingerprint  INTEGER NOT NULL DEFAULT 0,
	-- The time at which the user asked to keep the content, 0 if it is not kept.
	kept         INTEGER NOT NULL DEFAULT 0,
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
	-- pass is the pass that first applied the edit. payload is the level of a compression, or else the name of the rule
	-- that proposed the edit.
	pass       INTEGER NOT NULL,
	payload    TEXT    NOT NULL DEFAULT '',
	PRIMARY KEY (harness, session_id, tag, kind),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE unit_sums (
	harness        TEXT    NOT NULL,
	session_id     TEXT    NOT NULL,
	-- units is the number of the session's units. dropped_units is the number of units with an edit of the kind 'drop'
	-- or 'skeleton'. dropped_tokens is the number of tokens that these edits have removed. A skeleton keeps the call's
	-- arguments on the wire, so their input_tokens do not count.
	units          INTEGER NOT NULL,
	dropped_units  INTEGER NOT NULL DEFAULT 0,
	dropped_tokens INTEGER NOT NULL DEFAULT 0,
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
	-- The unit for which the drop was queued. If the tag now belongs to another unit, the drop is deleted.
	unit_key   TEXT    NOT NULL DEFAULT '',
	queued_at  INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, tag),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE thinking (
	harness     TEXT    NOT NULL,
	session_id  TEXT    NOT NULL,
	message_key TEXT    NOT NULL,
	-- prompt identifies the prompt to which the thinking of the message is bound. lost_pass is the pass that changed
	-- this prompt and so invalidated the thinking, 0 while the thinking is valid.
	prompt      TEXT    NOT NULL,
	lost_pass   INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id, message_key),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE passes (
	harness         TEXT    NOT NULL,
	session_id      TEXT    NOT NULL,
	pass            INTEGER NOT NULL,
	at              INTEGER NOT NULL,
	verdict         TEXT    NOT NULL CHECK (verdict = 'steady' OR verdict = 'soft' OR verdict = 'hard'),
	-- cause says why the pass has this verdict. bust is 1 if the pass was a bust, or lost its prefix by a later event,
	-- for example a changed system prompt, and bust_cause says why. Both causes may be ''.
	cause           TEXT    NOT NULL DEFAULT '',
	bust            INTEGER NOT NULL CHECK (bust IN (0, 1)),
	bust_cause      TEXT    NOT NULL DEFAULT '',
	-- size_tokens is the size that the pass expected for the next prompt if it changed nothing. pressure is this size
	-- divided by the prompt limit, for example 0.72. goal_tokens is the size that the pass wanted to reach, 0 without
	-- pressure.
	pressure        REAL    NOT NULL,
	size_tokens     INTEGER NOT NULL DEFAULT 0,
	goal_tokens     INTEGER NOT NULL DEFAULT 0,
	edits_added     INTEGER NOT NULL,
	-- messages and wire_messages are the numbers of messages in the harness's array and on the wire. wire_tokens is the
	-- size of the wire. prefix_tokens is the size of the prefix that it shares with the previous wire.
	messages        INTEGER NOT NULL,
	wire_messages   INTEGER NOT NULL,
	wire_tokens     INTEGER NOT NULL,
	prefix_tokens   INTEGER NOT NULL,
	-- The provider's usage of the request: tokens outside the cache, read from the cache, and written to it. The
	-- columns are NULL until the provider has reported the usage.
	input_tokens    INTEGER,
	cache_read      INTEGER,
	cache_write     INTEGER,
	-- The price of the bust, estimated before the bust. The columns are 0 if no rule proposed an edit. The provider
	-- writes resent_tokens to its cache again, and removed_tokens are no longer sent. The bust pays off after
	-- break_even passes. After forecast passes, space would have to be freed at any cost. thinking_tokens is the size
	-- of the bound thinking that the bust invalidates. cost_tokens is the price of the bust, and rent_tokens is the
	-- price of waiting. The unit of both is the price of reading one token from the cache.
	resent_tokens   INTEGER NOT NULL DEFAULT 0,
	removed_tokens  INTEGER NOT NULL DEFAULT 0,
	break_even      REAL    NOT NULL DEFAULT 0,
	forecast        INTEGER NOT NULL DEFAULT 0,
	thinking_tokens INTEGER NOT NULL DEFAULT 0,
	cost_tokens     INTEGER NOT NULL DEFAULT 0,
	rent_tokens     INTEGER NOT NULL DEFAULT 0,
	-- lost_blocks and lost_tokens are the number and the size of the thinking blocks that the pass has invalidated.
	lost_blocks     INTEGER NOT NULL DEFAULT 0,
	lost_tokens     INTEGER NOT NULL DEFAULT 0,
	-- fold_reason says why the pass folded the head, '' if it did not. baseline_tokens and delta_tokens are the sizes
	-- of the head in the wire, 0 if there is no head.
	fold_reason     TEXT    NOT NULL DEFAULT '',
	baseline_tokens INTEGER NOT NULL DEFAULT 0,
	delta_tokens    INTEGER NOT NULL DEFAULT 0,
	-- Parts of wire_tokens: the memories in the head, the calls and results in the tail, and thinking.
	memory_tokens    INTEGER NOT NULL DEFAULT 0,
	tool_tokens      INTEGER NOT NULL DEFAULT 0,
	reasoning_tokens INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id, pass),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX passes_busts ON passes (harness, session_id, bust_cause) WHERE bust = 1;

CREATE INDEX passes_priced ON passes (harness, session_id, pass) WHERE resent_tokens + removed_tokens > 0;

CREATE INDEX passes_folds ON passes (harness, session_id, fold_reason) WHERE fold_reason <> '';

-- What a rule has removed in one pass.
CREATE TABLE removals (
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	pass       INTEGER NOT NULL,
	-- rule is the name of the rule, or 'summaries' for messages that the head replaced. cause is the cause of the pass.
	-- tokens is the number of removed tokens. through is the last ordinal that the head covers after a removal by
	-- 'summaries', 0 for any other rule.
	rule       TEXT    NOT NULL,
	cause      TEXT    NOT NULL DEFAULT '',
	tokens     INTEGER NOT NULL,
	through    INTEGER NOT NULL DEFAULT 0,
	-- rereads is the number of removed units that the model read again, and reread is their size in tokens.
	rereads    INTEGER NOT NULL DEFAULT 0,
	reread     INTEGER NOT NULL DEFAULT 0,
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

-- A line from an earlier message, which the host has added at the end of a unit.
CREATE TABLE recalls (
	harness        TEXT    NOT NULL,
	session_id     TEXT    NOT NULL,
	-- The unit at whose end the line stands, and the pass that added it.
	tag            INTEGER NOT NULL,
	pass           INTEGER NOT NULL,
	-- The session and the ordinal of the earlier message.
	source_session TEXT    NOT NULL DEFAULT '',
	ordinal        INTEGER NOT NULL DEFAULT 0,
	-- fact is a hash of the content, so that the host shows the same content only once. names is a JSON array of the
	-- files and commands that the line names. It leaves out the names that were the reason for the line. tokens is the
	-- size of the line.
	fact           INTEGER NOT NULL,
	names          TEXT    NOT NULL DEFAULT '',
	tokens         INTEGER NOT NULL,
	-- The pass in which a call of the model used the line, 0 if none did.
	acted_pass     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id, tag, fact),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE nudges (
	harness     TEXT    NOT NULL,
	session_id  TEXT    NOT NULL,
	-- undropped and level describe the last reminder at the end of a tool output. undropped is the number of tokens
	-- that the model could have dropped at that time. level is the tone of the reminder, '' if there was none.
	undropped   INTEGER NOT NULL DEFAULT 0,
	level       TEXT    NOT NULL DEFAULT '' CHECK (level IN ('', 'gentle', 'firm', 'urgent')),
	-- 1 if the session has had its reminder in a message of its own, which comes only once.
	has_message INTEGER NOT NULL DEFAULT 0 CHECK (has_message IN (0, 1)),
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE heads (
	harness         TEXT    NOT NULL,
	session_id      TEXT    NOT NULL,
	epoch           INTEGER NOT NULL,
	-- generation is the value of histories.generation at which the head was made from its compartments.
	generation      INTEGER NOT NULL,
	-- through_key and through_ordinal are the key and the ordinal of the newest message that the head replaces, '' and
	-- 0 if it replaces none. after_summary is compartments.after_summary of the newest compartment in the head. pinned
	-- is a JSON array with the keys of the pinned prompts.
	through_key     TEXT    NOT NULL DEFAULT '',
	through_ordinal INTEGER NOT NULL DEFAULT 0,
	after_summary   TEXT    NOT NULL DEFAULT '',
	pinned          TEXT    NOT NULL DEFAULT '[]',
	-- The texts of the head's three messages.
	baseline        TEXT    NOT NULL DEFAULT '',
	acknowledgement TEXT    NOT NULL DEFAULT '',
	delta           TEXT    NOT NULL DEFAULT '',
	-- baseline_seq and delta_seq are the numbers (compartments.seq) of the newest compartment in the baseline and of
	-- the newest one in the head, -1 if there is none. baseline_tokens includes the acknowledgement.
	baseline_seq    INTEGER NOT NULL DEFAULT -1,
	delta_seq       INTEGER NOT NULL DEFAULT -1,
	baseline_tokens INTEGER NOT NULL DEFAULT 0,
	delta_tokens    INTEGER NOT NULL DEFAULT 0,
	-- sections is a JSON object with the sizes of the baseline's sections, for people. docs_hash identifies the project
	-- documents in the baseline. memories is a JSON array with the ids of the memories in the baseline. key_files lists
	-- the key files in the baseline, one line 'HASH PATH' for each, '' if there are none.
	sections        TEXT    NOT NULL DEFAULT '{}',
	docs_hash       TEXT    NOT NULL DEFAULT '',
	memories        TEXT    NOT NULL DEFAULT '[]',
	key_files       TEXT    NOT NULL DEFAULT '',
	-- The highest ids of a memory and of a change of a memory at the time of the fold. The delta shows later ones.
	memory_id       INTEGER NOT NULL DEFAULT 0,
	change_id       INTEGER NOT NULL DEFAULT 0,
	-- The pass that made the baseline, the time of this fold, and the reason for it.
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
	-- message_keys is a JSON array with the key of each message from start_ordinal to end_ordinal. The key of an
	-- unreadable message is ''. If the harness's array began with a summary by the harness when the historian ran,
	-- after_summary is the key of this summary. Otherwise it is ''.
	message_keys  TEXT    NOT NULL DEFAULT '[]',
	after_summary TEXT    NOT NULL DEFAULT '',
	title         TEXT    NOT NULL DEFAULT '',
	-- p1 to p4 are the tiers of the summary, the longest first. If p2 or p3 is '', the head shows the tier before it.
	-- If p4 is '', the head shows the title. importance says how long the details are worth keeping. episode names the
	-- kinds of work, for example 'bug,release'.
	p1            TEXT    NOT NULL DEFAULT '',
	p2            TEXT    NOT NULL DEFAULT '',
	p3            TEXT    NOT NULL DEFAULT '',
	p4            TEXT    NOT NULL DEFAULT '',
	importance    INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	episode       TEXT    NOT NULL DEFAULT '',
	-- missing is one line with the anchors of the messages that neither the title nor a tier contains, '' if none is
	-- missing. rules is a JSON array of the user's lasting rules in the messages. fidelity is the weight of the anchors
	-- that the summary contains, divided by the weight of all anchors; it is 1 if there are no anchors.
	missing       TEXT    NOT NULL DEFAULT '',
	rules         TEXT    NOT NULL DEFAULT '[]',
	fidelity      REAL    NOT NULL DEFAULT 0 CHECK (fidelity BETWEEN 0 AND 1),
	-- made_by says how the compartment was made, and model names the model, '' if none made it. raw_tokens is the size
	-- of the summarised messages.
	made_by       TEXT    NOT NULL CHECK (made_by IN ('model', 'repaired', 'fallback', 'extractive', 'harness')),
	model         TEXT    NOT NULL DEFAULT '',
	raw_tokens    INTEGER NOT NULL DEFAULT 0,
	created_at    INTEGER NOT NULL,
	PRIMARY KEY (harness, session_id, seq),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE,
	CHECK (start_ordinal <= end_ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX compartments_figures ON compartments (harness, session_id, fidelity, start_ordinal, end_ordinal, raw_tokens, made_by);

-- The compartments that an unfinished recomp has made so far. The columns are those of compartments.
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

-- The compartments that reverts have withdrawn, because messages of them were removed. seq numbers them in the order of
-- their withdrawal. The other columns are those of compartments.
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
	-- generation counts how often stored compartments were replaced or removed. publishes counts the publications, and
	-- extracted counts those that ended with an extractive compartment.
	generation     INTEGER NOT NULL DEFAULT 0,
	publishes      INTEGER NOT NULL DEFAULT 0,
	extracted      INTEGER NOT NULL DEFAULT 0,
	-- The marker that the host still has to write into the harness's history, and the marker that is there now. Each is
	-- '' if there is none.
	pending_marker TEXT    NOT NULL DEFAULT '',
	applied_marker TEXT    NOT NULL DEFAULT '',
	-- recomp is the kind of the unfinished recomp, '' if there is none. recomp_start and recomp_end are the first and
	-- the last ordinal of a partial recomp, 0 for a full one.
	recomp         TEXT    NOT NULL DEFAULT '' CHECK (recomp = '' OR recomp = 'full' OR recomp = 'partial'),
	recomp_start   INTEGER NOT NULL DEFAULT 0,
	recomp_end     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (harness, session_id),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The work of an agent for a subject: a session, or a project. The row of a session also names the session in harness
-- and session_id, so that it is deleted with the session. In the row of a project, both are NULL.
CREATE TABLE agent_work (
	-- The subject in words, for example 'session opencode/ses_1' or 'project git:4b825dc'.
	subject       TEXT    NOT NULL,
	agent         TEXT    NOT NULL,
	harness       TEXT,
	session_id    TEXT,
	-- The lease. holder is the name of the run that holds it, '' if no run does. The lease expires at expires_at,
	-- unless the run renews it. cut is the lowest ordinal that a revert has removed from the session since acquired_at,
	-- 0 if none was.
	holder        TEXT    NOT NULL DEFAULT '',
	acquired_at   INTEGER NOT NULL DEFAULT 0,
	expires_at    INTEGER NOT NULL DEFAULT 0,
	cut           INTEGER NOT NULL DEFAULT 0,
	-- failures is the number of failed runs since the last success. last_error and failed_at describe the newest
	-- failure, '' and 0 after a success. No run begins before retry: for a session, retry is the number of a pass; for
	-- a project, it is a time in Unix ms. 0 means no wait. throttle is the state of the historian's throttle in JSON,
	-- '' before the first run.
	failures      INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
	last_error    TEXT    NOT NULL DEFAULT '',
	failed_at     INTEGER NOT NULL DEFAULT 0,
	retry         INTEGER NOT NULL DEFAULT 0,
	throttle      TEXT    NOT NULL DEFAULT '',
	-- unfinished is a JSON object with everything that an unfinished run has done, so that the next run can continue
	-- after a crash. stopped is a JSON object with the reason why the budget refused the newest call. Each is '' if
	-- there is none.
	unfinished    TEXT    NOT NULL DEFAULT '',
	stopped       TEXT    NOT NULL DEFAULT '',
	-- The number of all runs, and the sums of their tokens. The table agent_runs keeps only the newest runs.
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

-- A run of an agent for a subject. In the row of a project, harness and session_id are NULL.
CREATE TABLE agent_runs (
	subject            TEXT    NOT NULL,
	agent              TEXT    NOT NULL,
	-- The runs of an agent for a subject are numbered from 1.
	run                INTEGER NOT NULL,
	harness            TEXT,
	session_id         TEXT,
	-- status 'noop' means that there was nothing to do. reason says why the run began, failed, or found nothing to do.
	-- model is the model that gave the accepted answer, '' if there was none.
	status             TEXT    NOT NULL CHECK (status = 'success' OR status = 'failed' OR status = 'noop'),
	reason             TEXT    NOT NULL DEFAULT '',
	model              TEXT    NOT NULL DEFAULT '',
	input_tokens       INTEGER NOT NULL DEFAULT 0,
	output_tokens      INTEGER NOT NULL DEFAULT 0,
	cache_read         INTEGER NOT NULL DEFAULT 0,
	cache_write        INTEGER NOT NULL DEFAULT 0,
	started_at         INTEGER NOT NULL,
	ended_at           INTEGER NOT NULL,
	-- The next columns are set only for the historian. pass is the newest pass of the session when the run began.
	-- start_ordinal and end_ordinal are the first and the last message that the run summarised. produced is the number
	-- of its compartments. fidelity is the mean of their fidelities, weighted by their raw_tokens. made_by says how
	-- they were made. unconfirmed_quotes and unconfirmed_facts count the quotes and facts in the answer that the
	-- messages do not confirm.
	kind               TEXT    NOT NULL DEFAULT '' CHECK (kind = '' OR kind = 'incremental' OR kind = 'recomp' OR kind = 'partial' OR kind = 'wrapup'),
	pass               INTEGER NOT NULL DEFAULT 0,
	start_ordinal      INTEGER NOT NULL DEFAULT 0,
	end_ordinal        INTEGER NOT NULL DEFAULT 0,
	produced           INTEGER NOT NULL DEFAULT 0,
	fidelity           REAL    NOT NULL DEFAULT 0,
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
	-- project is the identity of the subject's project, '' if it is unknown. harness and session name the session on
	-- which the agent worked. They are NULL if it worked on a project. holder is the name under which the run held its
	-- lease.
	project       TEXT    NOT NULL,
	directory     TEXT    NOT NULL,
	agent         TEXT    NOT NULL,
	harness       TEXT,
	session       TEXT,
	holder        TEXT    NOT NULL,
	model         TEXT    NOT NULL,
	input_tokens  INTEGER NOT NULL,
	output_tokens INTEGER NOT NULL,
	cache_read    INTEGER NOT NULL,
	cache_write   INTEGER NOT NULL,
	-- The cost in billionths of a dollar. It is NULL if the harness names no price, or if the cost is unknown because
	-- the call has not ended or was cut off.
	cost          INTEGER,
	-- counted (billionths of a dollar) and counted_tokens are the cost and the tokens that a budget counts: the highest
	-- possible values until the call has ended, then the real ones. If the model has no known price, the price of the
	-- most expensive known model counts. is_open is 1 if the real values are unknown, because the call has not ended,
	-- was cut off, or the host has crashed.
	counted        INTEGER NOT NULL,
	counted_tokens INTEGER NOT NULL,
	is_open        INTEGER NOT NULL CHECK (is_open IN (0, 1)),
	-- The numbers of compartments, memories and findings that the run has published. They are in the row of the run's
	-- newest call. For the dreamer, memories is the number of changed memories.
	compartments  INTEGER NOT NULL DEFAULT 0,
	memories      INTEGER NOT NULL DEFAULT 0,
	findings      INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX agent_calls_by_time ON agent_calls (at);
CREATE INDEX agent_calls_of_session ON agent_calls (harness, session);

CREATE TABLE memories (
	id             INTEGER PRIMARY KEY AUTOINCREMENT,
	-- The identity of the project, or 'user' for a memory about the user.
	project        TEXT    NOT NULL,
	category       TEXT    NOT NULL,
	content        TEXT    NOT NULL,
	-- The MD5 of the content without differences in case and white space, in hex.
	hash           TEXT    NOT NULL,
	importance     INTEGER NOT NULL DEFAULT 50 CHECK (importance BETWEEN 1 AND 100),
	source         TEXT    NOT NULL CHECK (source IN ('historian', 'user', 'agent', 'tool', 'web')),
	-- The session and the ordinal of the message from which the memory was learned. They are '' and 0 if unknown.
	source_harness TEXT    NOT NULL DEFAULT '',
	source_session TEXT    NOT NULL DEFAULT '',
	source_message INTEGER NOT NULL DEFAULT 0,
	-- The directory of the session that last learned the memory, '' if unknown.
	directory      TEXT    NOT NULL DEFAULT '',
	status         TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'permanent', 'proposed', 'archived', 'superseded')),
	-- The id of the memory that replaces this one, 0 if none does.
	superseded_by  INTEGER NOT NULL DEFAULT 0,
	-- seen_count is the number of times that sessions learned the memory, and seen_at is the last time. updated_at is
	-- the time of the newest change of content, category, importance or status, but not of seen_count. A memory is
	-- shown until expires_at, always if it is 0.
	seen_count     INTEGER NOT NULL DEFAULT 1,
	seen_at        INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL,
	expires_at     INTEGER NOT NULL DEFAULT 0,
	-- test is a check of the memory, for example 'go.mod: go 1.26': the file must contain this text. doubt is the
	-- reason why the newest check failed. Each is '' if there is none.
	test           TEXT    NOT NULL DEFAULT '',
	doubt          TEXT    NOT NULL DEFAULT '',
	UNIQUE (project, category, hash)
) STRICT;

CREATE TABLE memory_changes (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	-- The project of the memory. If a workspace has changed, it is a project that now sees the memory, or no longer
	-- sees it.
	project       TEXT    NOT NULL,
	kind          TEXT    NOT NULL CHECK (kind IN ('update', 'archive', 'delete', 'supersede', 'restore')),
	memory        INTEGER NOT NULL,
	-- The id of the memory that replaces this one, 0 if none does.
	superseded_by INTEGER NOT NULL DEFAULT 0,
	-- category and content describe the memory after an update or a restore. After an archive, content is the reason.
	-- For any other change, or if the memory was deleted later, content is ''.
	category      TEXT    NOT NULL DEFAULT '',
	content       TEXT    NOT NULL DEFAULT '',
	-- The number of the dreamer's run that made the change, counted in each project. It is 0 if the dreamer did not
	-- make it.
	run           INTEGER NOT NULL DEFAULT 0,
	at            INTEGER NOT NULL
) STRICT;

CREATE INDEX memory_changes_by_project ON memory_changes (project, id);

-- An observation of the historian about the user. When enough sessions have led to the same observation, it becomes a
-- memory of the project 'user', and its rows are deleted here.
CREATE TABLE user_candidates (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	harness    TEXT    NOT NULL,
	session_id TEXT    NOT NULL,
	-- message is the ordinal of the message that led to the observation. words is the MD5 of the user's words that show
	-- it, in hex. content is the observation.
	message    INTEGER NOT NULL,
	words      TEXT    NOT NULL,
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
	-- project is the identity of the project, which can be in only one workspace. name is its name for the other
	-- members.
	project   TEXT NOT NULL PRIMARY KEY,
	workspace TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
	name      TEXT NOT NULL,
	UNIQUE (workspace, name)
) STRICT, WITHOUT ROWID;

-- A note of the model, or a promise. A promise and a note with a condition belong to their project, and any other note
-- belongs to its session.
CREATE TABLE notes (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	-- The session of the note. Both columns are NULL if the note belongs to its project.
	harness    TEXT,
	session_id TEXT,
	-- The speaker of a promise, and the session in which it was made. The columns are '' for any other note.
	said_by        TEXT NOT NULL DEFAULT '' CHECK (said_by IN ('', 'user', 'agent')),
	source_harness TEXT NOT NULL DEFAULT '',
	source_session TEXT NOT NULL DEFAULT '',
	-- project is an identity. message is the ordinal of the message that contains the promise or wrote the note, 0 if
	-- it is unknown. condition says when the note becomes ready, for example 'merged: login', '' for no condition.
	project    TEXT    NOT NULL DEFAULT '',
	message    INTEGER NOT NULL DEFAULT 0,
	content    TEXT    NOT NULL,
	condition  TEXT    NOT NULL DEFAULT '',
	status     TEXT    NOT NULL CHECK (status IN ('active', 'pending', 'ready', 'done', 'dismissed')),
	-- reason says why the condition of a ready note holds, or where a promise was closed. told is 1 once a model was
	-- told that the note is ready. seen is a text that one test of the condition leaves for the next one, for example
	-- the newest commit of a branch that is not merged yet.
	reason     TEXT    NOT NULL DEFAULT '',
	told       INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)),
	seen       TEXT    NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	CHECK ((session_id IS NULL) = (condition <> '' OR said_by <> '')),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT;

CREATE INDEX notes_of_session ON notes (harness, session_id);
CREATE INDEX notes_of_project ON notes (project);

-- A row that was imported from the TypeScript plugin. hash is the SHA-256 of the texts that identify the row, in hex. A
-- later import skips the row, even if it was changed or deleted here.
CREATE TABLE imported (
	hash TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- A search for expired data. Data is deleted only after several searches have found it expired, because the clock may
-- be wrong.
CREATE TABLE tidies (
	at INTEGER NOT NULL PRIMARY KEY
) STRICT;

-- The limits and prices that a harness has named for a model. 0 means unknown.
CREATE TABLE model_limits (
	provider       TEXT    NOT NULL,
	model          TEXT    NOT NULL,
	context_tokens INTEGER NOT NULL,
	input_tokens   INTEGER NOT NULL,
	output_tokens  INTEGER NOT NULL,
	-- Prices are per million tokens, in the currency of the harness's catalogue: of tokens outside the cache, written
	-- to the cache, read from the cache, and in an answer.
	price_fresh    REAL    NOT NULL,
	price_write    REAL    NOT NULL,
	price_read     REAL    NOT NULL,
	price_output   REAL    NOT NULL,
	-- The npm package through which the harness calls the provider, '' if unknown.
	npm            TEXT    NOT NULL DEFAULT '',
	at             INTEGER NOT NULL,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_windows (
	provider        TEXT    NOT NULL,
	model           TEXT    NOT NULL,
	-- overflow_tokens is the limit that the provider named when it refused a prompt at overflow_at. accepted_tokens is
	-- the largest prompt that it accepted since then, and accepted_at is the time of this prompt. 0 means none.
	overflow_tokens INTEGER NOT NULL DEFAULT 0,
	overflow_at     INTEGER NOT NULL DEFAULT 0,
	accepted_tokens INTEGER NOT NULL DEFAULT 0,
	accepted_at     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE cache_lives (
	provider TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	-- life_ms is the learned cache life, 0 if nothing was learned. It was learned at the time at. missed is 1 if misses
	-- have shortened the life, and 0 if a read has lengthened it.
	life_ms  INTEGER NOT NULL DEFAULT 0 CHECK (life_ms >= 0),
	missed   INTEGER NOT NULL DEFAULT 0 CHECK (missed IN (0, 1)),
	at       INTEGER NOT NULL DEFAULT 0,
	-- A miss is a pause after which the provider no longer had the prefix. misses is the number of misses since the
	-- last read that contradicted them. least_ms is the shortest of their pauses, and most_ms the longest.
	misses   INTEGER NOT NULL DEFAULT 0 CHECK (misses >= 0),
	least_ms INTEGER NOT NULL DEFAULT 0,
	most_ms  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE token_ratios (
	provider TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	-- ratio is the number of tokens that the provider counts for one token of the host's count, for example 1.4.
	-- samples is the number of usage reports from which it was learned.
	ratio    REAL    NOT NULL CHECK (ratio > 0),
	samples  INTEGER NOT NULL CHECK (samples >= 1),
	at       INTEGER NOT NULL,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;
