-- The title that the harness shows for a session, as its events report it. No pass
-- writes it.
ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT '';
