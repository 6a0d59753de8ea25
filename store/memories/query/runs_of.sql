-- The dreamer numbers its runs in each project separately, so there may be a run ?2 in several projects. This query
-- returns the directory of each such project except ?1, the newest run first. If a project's directory is unknown, the
-- query returns the project's identity.
SELECT coalesce(nullif(max(m.directory), ''), c.project)
FROM memory_changes AS c LEFT JOIN memories AS m ON m.id = c.memory
WHERE c.run = ?2 AND c.run > 0 AND c.project <> ?1
GROUP BY c.project
ORDER BY max(c.at) DESC
