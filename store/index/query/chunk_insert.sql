INSERT INTO chunks (session, message, hash, kind, role, first, last, at, subject, status, text, context)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
