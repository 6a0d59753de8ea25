-- How many texts have a vector in the space ?1, and how many still wait for one. A text waits if it is newer than the
-- newest text that was processed for this space. In a new space, all texts wait. The result counts at most ?2 waiting
-- texts.
SELECT
	(SELECT count(*) FROM vectors WHERE (SELECT name FROM space) = ?1),
	min(?2, (SELECT count(*) FROM chunks WHERE kind = 'text' AND id > coalesce((SELECT through FROM space WHERE name = ?1), 0)))
