-- The last pass that found a lump of removable content (pipeline.Rent).
ALTER TABLE sessions ADD COLUMN rent_grew_at INTEGER NOT NULL DEFAULT 0;
