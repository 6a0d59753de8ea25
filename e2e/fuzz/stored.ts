import type { Machine } from "./machine.ts"
import type { Session } from "./opencode.ts"

/** A session of which another one is a copy, and for each message of the copy the original's message. */
export interface Original {
  stored: Stored
  messages: ReadonlyMap<string, string>
}

/** The host's stored decisions about a session. */
export class Stored {
  /** The session of which this one is a copy. */
  original: Original | undefined
  private readonly machine: Machine
  private readonly session: Session
  /** The key by which the host knows a message. */
  readonly key: (message: string) => string
  /** Whether no pass of the session is stored. */
  private readonly isEmpty: () => boolean

  constructor(machine: Machine, session: Session, key: (message: string) => string, isEmpty: () => boolean) {
    this.machine = machine
    this.session = session
    this.key = key
    this.isEmpty = isEmpty
  }

  /**
   * The original of a copy that has no stored pass yet. If the database is locked during the copy's first pass, the host
   * sends the edits of the original, and stores them for the copy with the first pass that it can store (-seed 100250).
   */
  private get unstoredOriginal(): Original | undefined {
    return this.isEmpty() ? this.original : undefined
  }

  /** The highest tag that the host has given. */
  tags(): number {
    const rows = this.machine.read("SELECT tag_counter FROM sessions WHERE session_id = ?", this.session.id)
    return Math.max(Number(rows[0]?.tag_counter ?? 0), this.unstoredOriginal?.stored.tags() ?? 0)
  }

  /** The kinds of the stored edits of a message, by tag. */
  edits(message: string): Map<number, Set<string>> {
    const original = this.unstoredOriginal
    if (original) {
      const theirs = original.messages.get(message)
      return theirs === undefined ? new Map() : original.stored.edits(theirs)
    }
    const found = new Map<number, Set<string>>()
    const sql = "SELECT u.tag AS tag, e.kind AS kind FROM units u JOIN edits e USING (harness, session_id, tag) WHERE u.session_id = ? AND u.message_key = ?"
    for (const { tag, kind } of this.machine.read(sql, this.session.id, this.key(message))) {
      const kinds = found.get(Number(tag)) ?? new Set()
      found.set(Number(tag), kinds.add(String(kind)))
    }
    return found
  }

  /**
   * The stored head of the session. Until the first pass of a copy is stored, it is the original's head; in Pi it
   * also has the original's keys (-seed 700013).
   */
  head(): Record<string, unknown> | undefined {
    const original = this.unstoredOriginal
    if (original) return original.stored.head()
    return this.machine.read("SELECT through_key, baseline, acknowledgement, delta FROM heads WHERE session_id = ?", this.session.id)[0]
  }

  /** The compartments: their words, and the keys of the messages that they stand for. */
  compartments(): { count: number; words: string; keys: Set<string> } {
    const kept = this.machine.read("SELECT message_keys, p1 FROM compartments WHERE session_id = ?", this.session.id)
    return {
      count: kept.length, words: kept.map(({ p1 }) => String(p1)).join("\n"),
      keys: new Set(kept.flatMap(({ message_keys }) => JSON.parse(String(message_keys)) as string[])),
    }
  }

  /** The keys under which compartments may know a message: its own, and for a copy also its original's. */
  names(id: string): string[] {
    const theirs = this.original?.messages.get(id)
    return [this.key(id), ...(theirs === undefined ? [] : this.original!.stored.names(theirs))]
  }
}
