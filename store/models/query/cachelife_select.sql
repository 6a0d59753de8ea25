SELECT life_ms, missed, at, misses, least_ms, most_ms
FROM cache_lives
WHERE provider = ? AND model = ?
