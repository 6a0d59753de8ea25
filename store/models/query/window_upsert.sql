INSERT INTO model_windows (provider, model, overflow_tokens, overflow_at, accepted_tokens, accepted_at)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (provider, model) DO UPDATE SET
	overflow_tokens = excluded.overflow_tokens,
	overflow_at     = excluded.overflow_at,
	accepted_tokens = excluded.accepted_tokens,
	accepted_at     = excluded.accepted_at
