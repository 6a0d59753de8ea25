-- The meter of a session (pipeline.Rent), in tokens read from the cache.
ALTER TABLE sessions ADD COLUMN rent_paid      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN rent_coverable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN rent_removable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN rent_price     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN rent_queued    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN rent_messages  INTEGER NOT NULL DEFAULT 0;

-- What removable content had cost at this pass, and the price of the bust that removes it.
ALTER TABLE passes ADD COLUMN rent_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN cost_tokens INTEGER NOT NULL DEFAULT 0;
