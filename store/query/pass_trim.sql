DELETE FROM passes
WHERE harness = ? AND session_id = ? AND pass <= ?
