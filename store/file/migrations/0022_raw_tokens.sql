-- The size that the next prompt would have without magicctx. 0 if it is not known, for example after a compaction by
-- the harness.
ALTER TABLE sessions ADD COLUMN raw_tokens INTEGER NOT NULL DEFAULT 0;
