-- The dreamer numbers its runs in each project separately, so other projects than ?1 may also have a run ?2. This query
-- returns the directories of these projects, the newest run first. If a project's directory is unknown, the query
-- returns the project's identity.
SELECT coalesce(nullif(max(m.directory), ''), c.project)
FROM memory_changes AS c LEFT JOIN memories AS m ON m.id = c.memory
WHERE c.run = ?2 AND c.run > 0 AND c.project <> ?1
GROUP BY c.project
ORDER BY max(c.at) DESC
