-- The next ?3 texts without a vector in the space ?1. If the space is new, all texts before the newest ?2 are skipped.
SELECT id, session, text, context
FROM chunks
WHERE kind = 'text' AND id > coalesce(
	(SELECT through FROM space WHERE name = ?1),
	(SELECT min(id) - 1 FROM (SELECT id FROM chunks WHERE kind = 'text' ORDER BY id DESC LIMIT ?2)),
	0
)
ORDER BY id
LIMIT ?3
