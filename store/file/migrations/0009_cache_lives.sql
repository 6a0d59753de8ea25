-- What reported usage has shown of how long the provider keeps an unused prefix
-- of a model. Durations are milliseconds; life_ms is 0 until something was learned.
CREATE TABLE cache_lives (
	provider TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	life_ms  INTEGER NOT NULL DEFAULT 0 CHECK (life_ms >= 0),
	missed   INTEGER NOT NULL DEFAULT 0 CHECK (missed IN (0, 1)), -- shortened by misses, not lengthened by a read
	at       INTEGER NOT NULL DEFAULT 0,
	-- the misses that no read has contradicted since, and the pauses before them
	misses   INTEGER NOT NULL DEFAULT 0 CHECK (misses >= 0),
	least_ms INTEGER NOT NULL DEFAULT 0,
	most_ms  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;
