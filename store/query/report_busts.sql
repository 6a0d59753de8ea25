SELECT bust_cause, count(*)
FROM passes
WHERE harness = ? AND session_id = ? AND bust = 1
GROUP BY bust_cause
ORDER BY count(*) DESC, bust_cause
