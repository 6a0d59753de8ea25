import type { Machine } from "./machine.ts"
import type { Session } from "./opencode.ts"

/**
 * The session from which another session was copied. `messages` maps each message of the copy to the message of the
 * original.
 */
export interface Original {
  stored: Stored
  messages: ReadonlyMap<string, string>
}

export class Stored {
  original: Original | undefined
  private readonly machine: Machine
  private readonly session: Session
  readonly key: (message: string) => string
  private readonly isEmpty: () => boolean

  constructor(machine: Machine, session: Session, key: (message: string) => string, isEmpty: () => boolean) {
    this.machine = machine
    this.session = session
    this.key = key
    this.isEmpty = isEmpty
  }

  /**
   * The original of the copy, or undefined as soon as a pass of the copy is stored. If the database is locked during
   * the copy's first pass, the host uses the original's edits for it, and stores them for the copy only with a later
   * pass (found with -seed 100250).
   */
  private get unstoredOriginal(): Original | undefined {
    return this.isEmpty() ? this.original : undefined
  }

  tags(): number {
    const rows = this.machine.read("SELECT tag_counter FROM sessions WHERE session_id = ?", this.session.id)
    return Math.max(Number(rows[0]?.tag_counter ?? 0), this.unstoredOriginal?.stored.tags() ?? 0)
  }

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
   * Until a pass of the copy is stored, the copy has its original's head. In Pi, this head contains the original's keys
   * (found with -seed 700013).
   */
  head(): Record<string, unknown> | undefined {
    const original = this.unstoredOriginal
    if (original) return original.stored.head()
    return this.machine.read("SELECT through_key, baseline, acknowledgement, delta FROM heads WHERE session_id = ?", this.session.id)[0]
  }

  /** The texts of all compartments, and the keys of the messages that they replace. */
  compartments(): { count: number; words: string; keys: Set<string> } {
    const kept = this.machine.read("SELECT message_keys, p1 FROM compartments WHERE session_id = ?", this.session.id)
    return {
      count: kept.length, words: kept.map(({ p1 }) => String(p1)).join("\n"),
      keys: new Set(kept.flatMap(({ message_keys }) => JSON.parse(String(message_keys)) as string[])),
    }
  }

  /**
   * Returns the keys that a compartment may use for a message. In a copy, it may still use the key of the original's
   * message.
   */
  names(id: string): string[] {
    const theirs = this.original?.messages.get(id)
    return [this.key(id), ...(theirs === undefined ? [] : this.original!.stored.names(theirs))]
  }
}
