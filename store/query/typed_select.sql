SELECT message_key, typed FROM units
WHERE harness = ? AND session_id = ? AND typed <> ''
