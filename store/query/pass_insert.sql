INSERT INTO passes (
	harness, session_id, pass, at, verdict, cause, bust, bust_cause,
	messages, wire_messages, wire_tokens, prefix_tokens, edits_added, pressure,
	size_tokens, goal_tokens, resent_tokens, removed_tokens, break_even, forecast,
	lost_blocks, lost_tokens, thinking_tokens,
	fold_reason, baseline_tokens, delta_tokens,
	rent_tokens, cost_tokens,
	memory_tokens, reasoning_tokens, tool_tokens
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
