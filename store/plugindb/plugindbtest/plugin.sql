-- These are the tables in the plugin's schema 36 from which magicctx imports rows, and some other tables of this
-- schema.
PRAGMA journal_mode = WAL;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, description TEXT NOT NULL, applied_at INTEGER NOT NULL);
CREATE TABLE schema_migrations_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE v22_identity_rekey_map (old_project_path TEXT PRIMARY KEY, new_project_path TEXT NOT NULL, rekeyed_at INTEGER NOT NULL);
CREATE TABLE memories (
	id INTEGER PRIMARY KEY AUTOINCREMENT, project_path TEXT NOT NULL, category TEXT NOT NULL, content TEXT NOT NULL, normalized_hash TEXT NOT NULL,
	importance INTEGER, source_session_id TEXT, source_type TEXT DEFAULT 'historian', seen_count INTEGER DEFAULT 1, retrieval_count INTEGER DEFAULT 0,
	first_seen_at INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL, last_retrieved_at INTEGER,
	status TEXT DEFAULT 'active', expires_at INTEGER, verification_status TEXT DEFAULT 'unverified', verified_at INTEGER,
	superseded_by_memory_id INTEGER, merged_from TEXT, metadata_json TEXT, UNIQUE (project_path, category, normalized_hash)
);
CREATE TABLE memory_embeddings (memory_id INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, embedding BLOB NOT NULL, model_id TEXT);
CREATE TABLE notes (
	id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL DEFAULT 'session', status TEXT NOT NULL DEFAULT 'active', content TEXT NOT NULL,
	session_id TEXT, project_path TEXT, surface_condition TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, last_checked_at INTEGER,
	ready_at INTEGER, ready_reason TEXT, harness TEXT NOT NULL DEFAULT 'opencode', anchor_ordinal INTEGER
);
CREATE TABLE compartments (
	id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, sequence INTEGER NOT NULL, start_message INTEGER NOT NULL, end_message INTEGER NOT NULL,
	start_message_id TEXT DEFAULT '', end_message_id TEXT DEFAULT '', title TEXT NOT NULL, content TEXT NOT NULL, p1 TEXT, p2 TEXT, p3 TEXT, p4 TEXT,
	importance INTEGER NOT NULL DEFAULT 50, episode_type TEXT, p1_embedding BLOB, p1_embedding_model_id TEXT, legacy INTEGER NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL, harness TEXT NOT NULL DEFAULT 'opencode', UNIQUE (session_id, sequence)
);
CREATE TABLE user_memories (
	id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active', promoted_at INTEGER NOT NULL,
	source_candidate_ids TEXT DEFAULT '[]', created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
CREATE TABLE workspaces (
	id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
	share_categories TEXT NOT NULL DEFAULT '["CONSTRAINTS"]'
);
CREATE TABLE workspace_members (
	workspace_id INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE, project_path TEXT NOT NULL UNIQUE, display_name TEXT NOT NULL,
	display_path TEXT NOT NULL, added_at INTEGER NOT NULL, PRIMARY KEY (workspace_id, project_path), UNIQUE (workspace_id, display_name)
);
CREATE TABLE git_commits (
	sha TEXT PRIMARY KEY, project_path TEXT NOT NULL, short_sha TEXT NOT NULL, message TEXT NOT NULL, author TEXT, committed_at INTEGER NOT NULL,
	indexed_at INTEGER NOT NULL
);
CREATE TABLE tags (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, tag_number INTEGER, UNIQUE (session_id, tag_number));
CREATE TABLE session_meta (session_id TEXT PRIMARY KEY, harness TEXT NOT NULL DEFAULT 'opencode', counter INTEGER DEFAULT 0);
