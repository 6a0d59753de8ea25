-- What the last pass made of the newest usage: which one, how large its prompt is
-- believed to be, the host's own count of its messages, and what prompts hold beside
-- messages. A usage is stored with the harness's message and is about the edits of
-- its time; after a revert the newest one in the array may be of other edits.
ALTER TABLE sessions ADD COLUMN gauge_of     TEXT    NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN gauge_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN gauge_own    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN gauge_base   INTEGER NOT NULL DEFAULT 0;

-- How large the provider said that the refused prompt was, 0 where it did not.
ALTER TABLE sessions ADD COLUMN overflow_tokens INTEGER NOT NULL DEFAULT 0;

-- A fork copies messages under new ids. A unit and its twin in a copy have the same
-- fingerprint, by which the copy finds its original; 0 where none was taken.
ALTER TABLE units ADD COLUMN fingerprint INTEGER NOT NULL DEFAULT 0;
CREATE INDEX units_by_fingerprint ON units (harness, fingerprint) WHERE fingerprint <> 0;
