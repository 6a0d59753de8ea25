-- The times (Unix ms) at which a host looked for expired data. A clock that is wrong cannot
-- have been wrong at all of them.
CREATE TABLE tidies (
	at INTEGER NOT NULL PRIMARY KEY
) STRICT;

-- Nothing reads these rows, and hosts do not write them any longer.
DELETE FROM compartment_events;
DELETE FROM user_observations;
