SELECT
	context_tokens, input_tokens, output_tokens,
	price_fresh, price_write, price_read, price_output, npm, at
FROM model_limits
WHERE provider = ? AND model = ?
