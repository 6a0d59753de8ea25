INSERT INTO cache_lives (provider, model, life_ms, missed, at, misses, least_ms, most_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (provider, model) DO UPDATE SET
	life_ms  = excluded.life_ms,
	missed   = excluded.missed,
	at       = excluded.at,
	misses   = excluded.misses,
	least_ms = excluded.least_ms,
	most_ms  = excluded.most_ms
