-- A queued drop names its unit, not its tag alone. A tag could be given twice when
-- the unit that had it was lost: its pass met a locked database, the host was
-- killed, and the user took the message back. The drop then took the next piece
-- that got the tag, the user's own words.
ALTER TABLE queued_drops ADD COLUMN unit_key TEXT NOT NULL DEFAULT '';

UPDATE queued_drops SET unit_key = u.unit_key
FROM units AS u
WHERE u.harness = queued_drops.harness AND u.session_id = queued_drops.session_id AND u.tag = queued_drops.tag;

-- Nobody knows any more which unit these were queued for.
DELETE FROM queued_drops WHERE unit_key = '';
