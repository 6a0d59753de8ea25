SELECT pass, at, cause, bust_cause, verdict <> 'steady', resent_tokens, removed_tokens
FROM passes INDEXED BY passes_busts -- without this, the planner would scan the journal
WHERE harness = ? AND session_id = ? AND bust = 1
ORDER BY pass DESC
LIMIT 1
