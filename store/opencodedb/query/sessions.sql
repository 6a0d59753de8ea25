-- All sessions of version 1, most recently used first. Hidden agents only repeat other sessions, so their sessions
-- are left out.
SELECT s.id, s.directory, s.time_updated || ' ' || count(m.id) || ' ' || coalesce(max(m.id), ''), count(m.id)
FROM session s
LEFT JOIN message m ON m.session_id = s.id
WHERE s.title NOT LIKE 'magicctx: % (process %)'
GROUP BY s.id
ORDER BY s.time_updated DESC, s.id
