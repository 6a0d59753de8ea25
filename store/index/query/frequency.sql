-- Counts the rows that contain a term, from the newest row on, and finds the oldest row that it counted. It stops at ?2
-- rows, because counting all rows of a frequent term would take longer than the rest of a search.
SELECT count(*), coalesce(min(id), 0)
FROM (SELECT rowid AS id FROM terms WHERE terms MATCH ?1 ORDER BY rowid DESC LIMIT ?2)
