-- A note is a text of the host at the end of a unit's content. The harness does not store it.
ALTER TABLE units ADD COLUMN note TEXT NOT NULL DEFAULT '';

-- The message that a session gets once in its life is a note, too. It is stored with its pass,
-- so no host has to claim it.
UPDATE nudges SET message = '' WHERE message <> 'delivered';
ALTER TABLE nudges DROP COLUMN message_claimed_at;
