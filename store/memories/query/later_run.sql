-- Run ?2 has replaced memories by new ones. This query returns the newest later run that has superseded or archived one
-- of these new memories. A change that was undone does not count.
SELECT later.run
FROM memory_changes AS ours
JOIN memory_changes AS later ON later.memory = ours.superseded_by AND later.project = ours.project AND later.run > ours.run
JOIN memories AS m ON m.id = later.memory
WHERE ours.project = ?1 AND ours.run = ?2 AND m.status <> 'active' AND m.updated_at = later.at
ORDER BY later.run DESC
LIMIT 1
