import { Database } from "bun:sqlite"
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"

/** A stored message. The column data contains everything except id and type. */
export interface Row {
  id: string
  type: string
  time: { created: number; completed?: number }
  [member: string]: any
}

export interface Session {
  id: string
  directory: string
  title: string
  agent: string
  model: { providerID: string; id: string }
  parentID?: string
  isDenied?: boolean
  /** The first message that the next prompt will remove. */
  revert?: string
}

let last = 0

/** Like OpenCode's ids, the returned ids sort by time. */
export function newID(kind: string): string {
  last = Math.max(last + 1, Date.now() * 0x100)
  return `${kind}_${last.toString(16).padStart(14, "0")}${Math.random().toString(36).slice(2, 10).padEnd(8, "0")}`
}

/** The database, with the tables of release 2.0.26 that magicctx reads. */
export class Store {
  private readonly db: Database
  private seq = 0

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true })
    this.db = new Database(path)
    this.db.exec("PRAGMA journal_mode = WAL")
    this.db.exec("CREATE TABLE IF NOT EXISTS session_v2 (id TEXT PRIMARY KEY, directory TEXT, title TEXT, data TEXT)")
    this.db.exec(
      "CREATE TABLE IF NOT EXISTS session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, time_updated INTEGER, data TEXT)",
    )
    this.seq = (this.db.query("SELECT coalesce(max(seq), 0) AS seq FROM session_message").get() as { seq: number }).seq
  }

  session(id: string): Session | undefined {
    const row = this.db.query("SELECT data FROM session_v2 WHERE id = ?").get(id) as { data: string } | null
    return row ? JSON.parse(row.data) : undefined
  }

  keep(session: Session): void {
    this.db.query("INSERT OR REPLACE INTO session_v2 VALUES (?, ?, ?, ?)").run(session.id, session.directory, session.title, JSON.stringify(session))
  }

  remove(session: string): void {
    this.db.query("DELETE FROM session_message WHERE session_id = ?").run(session)
    this.db.query("DELETE FROM session_v2 WHERE id = ?").run(session)
  }

  rows(session: string): Row[] {
    const found = this.db.query("SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq").all(session) as Array<{ id: string; type: string; data: string }>
    return found.map(({ id, type, data }) => ({ id, type, ...JSON.parse(data) }))
  }

  put(session: string, { id, type, ...data }: Row): void {
    this.db
      .query("INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6) ON CONFLICT (id) DO UPDATE SET data = ?6, time_updated = ?5")
      .run(id, session, type, ++this.seq, Date.now(), JSON.stringify(data))
  }

  cut(session: string, from: string): void {
    this.db.query("DELETE FROM session_message WHERE session_id = ?1 AND seq >= (SELECT seq FROM session_message WHERE id = ?2)").run(session, from)
  }
}
