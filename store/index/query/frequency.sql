-- The number of the newest rows with a term, up to a limit, and the oldest of these rows. Counting all rows of a
-- frequent term would take longer than the rest of a search.
SELECT count(*), coalesce(min(id), 0)
FROM (SELECT rowid AS id FROM terms WHERE terms MATCH ?1 ORDER BY rowid DESC LIMIT ?2)
