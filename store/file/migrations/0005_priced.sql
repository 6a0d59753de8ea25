-- What a status shows of the newest price that was weighed. Most passes propose
-- nothing, so the index is small.
CREATE INDEX passes_priced ON passes (harness, session_id, pass) WHERE resent_tokens + removed_tokens > 0;
