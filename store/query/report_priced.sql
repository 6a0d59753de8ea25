SELECT pass, cause, bust, resent_tokens, removed_tokens, break_even, forecast, thinking_tokens, cost_tokens, rent_tokens
FROM passes INDEXED BY passes_priced -- without this, the planner would scan the journal
WHERE harness = ? AND session_id = ? AND resent_tokens + removed_tokens > 0
ORDER BY pass DESC
LIMIT 1
