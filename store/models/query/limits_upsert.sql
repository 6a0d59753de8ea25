INSERT INTO model_limits (
	provider, model, context_tokens, input_tokens, output_tokens,
	price_fresh, price_write, price_read, price_output, npm, at
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (provider, model) DO UPDATE SET
	context_tokens = excluded.context_tokens,
	input_tokens   = excluded.input_tokens,
	output_tokens  = excluded.output_tokens,
	price_fresh    = excluded.price_fresh,
	price_write    = excluded.price_write,
	price_read     = excluded.price_read,
	price_output   = excluded.price_output,
	npm            = excluded.npm,
	at             = excluded.at
