-- The vectors of the project ?1, the harness ?2 and the session ?3. An argument that is 0 or empty selects all.
SELECT chunk, vector
FROM vectors
WHERE ?1 = 0 AND ?2 = '' AND ?3 = '' OR session IN (
	SELECT id FROM sessions WHERE (?1 = 0 OR project = ?1) AND (?2 = '' OR harness = ?2) AND (?3 = '' OR session = ?3)
)
