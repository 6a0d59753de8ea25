-- For each IN with more than two values, SQLite builds a table in memory whenever a
-- statement runs. A pass writes a row to each of these tables, and the builds took a
-- fifth of its commit. The new checks accept the same values. A changed check leaves
-- the stored rows as they are, so it is written into the schema; see
-- https://www.sqlite.org/lang_altertable.html#otheralter.
PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = replace(sql,
	'mode IN (''primary'', ''primary-no-reduce'', ''subagent'', ''subagent-no-reduce'')',
	'mode = ''primary'' OR mode = ''primary-no-reduce'' OR mode = ''subagent'' OR mode = ''subagent-no-reduce''')
WHERE type = 'table' AND name = 'sessions';

UPDATE sqlite_schema SET sql = replace(sql,
	'kind IN (''text'', ''file'', ''tool'')',
	'kind = ''text'' OR kind = ''file'' OR kind = ''tool''')
WHERE type = 'table' AND name = 'units';

UPDATE sqlite_schema SET sql = replace(sql,
	'verdict IN (''steady'', ''soft'', ''hard'')',
	'verdict = ''steady'' OR verdict = ''soft'' OR verdict = ''hard''')
WHERE type = 'table' AND name = 'passes';

PRAGMA writable_schema = RESET;
