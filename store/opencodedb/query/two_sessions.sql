-- All sessions that have messages of version 2, most recently used first. The table of sessions is session_v2 or, in a
-- beta, session.
SELECT m.session_id, coalesce(s.directory, ''), max(m.time_updated) || ' ' || count(*) || ' ' || max(m.seq), count(*)
FROM session_message m
LEFT JOIN session_v2 s ON s.id = m.session_id
WHERE coalesce(s.title, '') NOT LIKE 'magicctx: % (process %)'
GROUP BY m.session_id
ORDER BY max(m.time_updated) DESC, m.session_id
