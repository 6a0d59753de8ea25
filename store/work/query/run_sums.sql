UPDATE agent_work
SET runs          = runs + 1,
	input_tokens  = input_tokens + ?3,
	cache_read    = cache_read + ?4,
	cache_write   = cache_write + ?5,
	output_tokens = output_tokens + ?6,
	unfinished    = ''
WHERE subject = ?1 AND agent = ?2
