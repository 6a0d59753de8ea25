-- How many texts have a vector in the space ?1, and how many wait for one. All texts after the newest text that was
-- looked at are waiting. In a new space, the newest ?2 texts are waiting.
SELECT
	(SELECT count(*) FROM vectors WHERE (SELECT name FROM space) = ?1),
	min(?2, (SELECT count(*) FROM chunks WHERE kind = 'text' AND id > coalesce((SELECT through FROM space WHERE name = ?1), 0)))
