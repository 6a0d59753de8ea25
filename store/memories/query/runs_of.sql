-- The directories of the projects other than ?1 in which the dreamer has a run ?2, the newest run first. A project whose
-- directory is not known is named by its identity.
SELECT coalesce(nullif(max(m.directory), ''), c.project)
FROM memory_changes AS c LEFT JOIN memories AS m ON m.id = c.memory
WHERE c.run = ?2 AND c.run > 0 AND c.project <> ?1
GROUP BY c.project
ORDER BY max(c.at) DESC
