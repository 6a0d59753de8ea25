-- A project is an identity, and no directory. Sessions get theirs when the host finds it.
ALTER TABLE sessions ADD COLUMN project TEXT NOT NULL DEFAULT ''; -- identity; '' as long as it is not known
ALTER TABLE histories DROP COLUMN project;
-- For people: the directory of the session that learned the memory last.
ALTER TABLE memories ADD COLUMN directory TEXT NOT NULL DEFAULT '';
UPDATE memories SET directory = project;
