import { Turns, within } from "@magicctx/shim-core"
import type { Client, Event, Message, ModelRef } from "./opencode.ts"

/** How long a question about a session may hold up its first pass, in ms. */
const lookupMS = 1_000

/**
 * After how long a session without a turn counts as quiet, in ms. It is long, because a prompt that comes while the
 * mark is on its way costs a second call of the model, and because the mark is for a person who comes back later. A
 * test sets it.
 */
export const quiet = { ms: 60_000 }

/** The agent and model of a conversation, as its newest user message names them. */
export interface Conversation {
  agent?: string
  model?: ModelRef
}

/** What the shim itself must know about OpenCode's sessions. */
export class Sessions extends Turns {
  /** Sessions whose next pass belongs to OpenCode's own compaction. */
  readonly compacting = new Set<string>()
  /** Sessions whose newest request belongs to OpenCode's own compaction, until their next pass. */
  readonly aside = new Set<string>()
  /** Sessions in which a hidden agent works. The shim leaves their messages unchanged. */
  readonly hidden = new Set<string>()
  private readonly client: Client
  private readonly parents = new Map<string, string>()
  private readonly conversations = new Map<string, Conversation>()

  constructor(client: Client) {
    super()
    this.client = client
  }

  /** Learns from an event. */
  observe({ type, properties }: Event): void {
    const { info, sessionID, status } = properties
    if ((type === "session.created" || type === "session.updated") && info?.id) this.parents.set(info.id, info.parentID ?? "")
    if (type === "session.deleted") this.forget(info?.id ?? sessionID ?? "")
    if (type === "session.status" && sessionID) {
      if (status?.type === "idle") this.turnEnded(sessionID)
      else this.turnRuns(sessionID)
    }
  }

  /** The session that spawned this one; empty for a primary session. */
  async parent(session: string): Promise<string> {
    const known = this.parents.get(session)
    if (known !== undefined) return known
    const answer = await within(lookupMS, this.client.session.get({ path: { id: session } }))
    const parent = answer?.data?.parentID ?? ""
    if (answer?.data) this.parents.set(session, parent)
    return parent
  }

  /** Notes agent and model of the conversation, and returns them. */
  conversation(session: string, messages: readonly Message[]): Conversation {
    const newest = messages.findLast((message) => message.info.role === "user")?.info
    const conversation: Conversation = {}
    if (newest?.agent) conversation.agent = newest.agent
    if (newest?.model) conversation.model = newest.model
    this.conversations.set(session, conversation)
    return conversation
  }

  lastConversation(session: string): Conversation {
    return this.conversations.get(session) ?? {}
  }

  /**
   * Resolves when no turn of the session has run for a while. The next prompt may have come before the event that the
   * last turn has ended, and a message that is stored during a turn makes OpenCode call the model once more.
   */
  async quiet(session: string, signal: AbortSignal): Promise<void> {
    do {
      await this.idle(session)
      await new Promise((resolve) => setTimeout(resolve, quiet.ms).unref())
      signal.throwIfAborted()
    } while (this.isRunning(session))
  }

  private forget(session: string): void {
    this.turnEnded(session)
    this.parents.delete(session)
    this.conversations.delete(session)
    this.compacting.delete(session)
    this.aside.delete(session)
    this.hidden.delete(session)
  }
}
