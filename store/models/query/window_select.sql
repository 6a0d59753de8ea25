SELECT overflow_tokens, overflow_at, accepted_tokens, accepted_at
FROM model_windows
WHERE provider = ? AND model = ?
