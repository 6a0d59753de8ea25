-- This query tells what has happened to a message that the head covers. It returns the prompts that the head pins, and
-- the first pass whose head covers the message.
SELECT h.pinned, r.pass, p.at, p.cause
FROM heads AS h
LEFT JOIN removals AS r ON r.harness = h.harness AND r.session_id = h.session_id AND r.rule = 'summaries' AND r.through >= ?3
LEFT JOIN passes AS p ON p.harness = r.harness AND p.session_id = r.session_id AND p.pass = r.pass
WHERE h.harness = ?1 AND h.session_id = ?2 AND h.through_ordinal >= ?3
ORDER BY r.pass
LIMIT 1
