-- The line that the user typed, if the harness has put the template of a command in its place. The harness does not
-- store it.
ALTER TABLE units ADD COLUMN typed TEXT NOT NULL DEFAULT '';
