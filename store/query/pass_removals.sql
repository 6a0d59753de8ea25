SELECT pass, rule, tokens, through
FROM removals
WHERE harness = ? AND session_id = ?
ORDER BY pass, tokens DESC, rule
