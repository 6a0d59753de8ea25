-- What the rules of the whole pass decide beside their edits.

-- The setup that a session's wire is rendered with; a busting pass changes it.
ALTER TABLE sessions ADD COLUMN profile       TEXT    NOT NULL DEFAULT ''; -- of the provider
ALTER TABLE sessions ADD COLUMN show_gaps     INTEGER NOT NULL DEFAULT 0 CHECK (show_gaps IN (0, 1));
ALTER TABLE sessions ADD COLUMN todo_message  TEXT    NOT NULL DEFAULT ''; -- carries the synthetic todo list
ALTER TABLE sessions ADD COLUMN todo_state    TEXT    NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN reclaim_up_to INTEGER NOT NULL DEFAULT 0;  -- tags that had their grace

-- The pressure episode: what the last bust freed of the prompt that was measured
-- last, and where an episode ended without relief.
ALTER TABLE sessions ADD COLUMN relief_of     TEXT    NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN relief_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN stuck_tag     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN stuck_grace   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN stuck_band    INTEGER NOT NULL DEFAULT 0;

-- The pause before the message whose first text the unit is, in seconds.
ALTER TABLE units ADD COLUMN gap_seconds INTEGER NOT NULL DEFAULT 0;

-- The price of a bust, as it was weighed; all 0 where no rule proposed anything.
ALTER TABLE passes ADD COLUMN size_tokens    INTEGER NOT NULL DEFAULT 0; -- of the next prompt, before the pass
ALTER TABLE passes ADD COLUMN goal_tokens    INTEGER NOT NULL DEFAULT 0; -- the low-water mark
ALTER TABLE passes ADD COLUMN resent_tokens  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN removed_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN break_even     REAL    NOT NULL DEFAULT 0; -- passes
ALTER TABLE passes ADD COLUMN forecast       INTEGER NOT NULL DEFAULT 0; -- passes
