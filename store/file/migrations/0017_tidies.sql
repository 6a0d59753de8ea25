-- The times (Unix ms) at which a host looked for expired data. A clock that is wrong cannot
-- have been wrong at all of them.
CREATE TABLE tidies (
	at INTEGER NOT NULL PRIMARY KEY
) STRICT;
