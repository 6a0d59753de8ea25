-- Some models bind their thinking to the exact prompt that it was produced for:
-- system prompt, tools, and all messages before it.

-- The prompt that the thinking of a message is bound to. A message without a row
-- has no thinking that could be sent.
CREATE TABLE thinking (
	harness     TEXT    NOT NULL,
	session_id  TEXT    NOT NULL,
	message_key TEXT    NOT NULL,
	prompt      TEXT    NOT NULL,
	lost_pass   INTEGER NOT NULL DEFAULT 0, -- the pass that changed the prompt; 0 while it stands
	PRIMARY KEY (harness, session_id, message_key),
	FOREIGN KEY (harness, session_id) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

ALTER TABLE sessions ADD COLUMN binds    INTEGER NOT NULL DEFAULT 0 CHECK (binds IN (0, 1)); -- the session's model does so
ALTER TABLE sessions ADD COLUMN preamble INTEGER NOT NULL DEFAULT 0;  -- counts the changes of model, system prompt and tools
ALTER TABLE sessions ADD COLUMN agent    TEXT    NOT NULL DEFAULT ''; -- the harness's agent of the last pass

-- The system prompt that the session's requests carry while its preamble stands.
ALTER TABLE sessions ADD COLUMN system_text     TEXT    NOT NULL DEFAULT ''; -- a JSON array of strings
ALTER TABLE sessions ADD COLUMN system_preamble INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN system_pending  INTEGER NOT NULL DEFAULT 0 CHECK (system_pending IN (0, 1)); -- the harness has another one
ALTER TABLE sessions ADD COLUMN system_at       INTEGER NOT NULL DEFAULT 0;

-- What busts have cost: thinking blocks that were valid and left the wire.
ALTER TABLE sessions ADD COLUMN lost_blocks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN lost_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN lost_blocks     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN lost_tokens     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN thinking_tokens INTEGER NOT NULL DEFAULT 0; -- of the price: the thinking at stake
