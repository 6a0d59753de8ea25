import { within } from "@magicctx/shim-core"
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
export class Sessions {
  /** Sessions whose next pass belongs to OpenCode's own compaction. */
  readonly compacting = new Set<string>()
  /** Sessions whose newest request belongs to OpenCode's own compaction, until their next pass. */
  readonly aside = new Set<string>()
  /** Sessions in which a hidden agent works. The shim leaves their messages unchanged. */
  readonly hidden = new Set<string>()
  /**
   * The host's last answer to each session's system prompt, together with the question. An undefined answer leaves
   * the prompt unchanged.
   */
  readonly systems = new Map<string, { question: string; system: string[] | undefined }>()
  private readonly client: Client
  private readonly parents = new Map<string, string>()
  private readonly busy = new Map<string, Array<() => void>>()
  /** Work that waits until a tool of the session ends. */
  private readonly waiting = new Map<string, Set<() => Promise<void>>>()
  private readonly conversations = new Map<string, Conversation>()

  constructor(client: Client) {
    this.client = client
  }

  /** Learns from an event. */
  observe({ type, properties }: Event): void {
    const { info, sessionID, status } = properties
    if ((type === "session.created" || type === "session.updated") && info?.id) this.parents.set(info.id, info.parentID ?? "")
    if (type === "session.deleted") this.forget(info?.id ?? sessionID ?? "")
    if (type === "session.status" && sessionID) {
      if (status?.type === "idle") this.settle(sessionID)
      else if (!this.busy.has(sessionID)) this.busy.set(sessionID, [])
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

  /** Runs work when the session has no running turn, unless signal ends the wait. */
  async whenIdle(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.idle(session)
    signal.throwIfAborted()
    await work()
  }

  /**
   * Runs work after a tool of the session, while OpenCode still waits for that tool, or when no turn runs. A message
   * that work stores is then read by the very next request. Stored between two steps, it could miss the request that
   * is being made and still precede its answer. The request after that would find it in the middle of the messages
   * that were already sent.
   */
  beforeNextRequest(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(session) ?? new Set()
      this.waiting.set(session, waiting)
      const run = async () => {
        if (!waiting.delete(run)) return // the tool's end and the idle session both called run
        if (waiting.size === 0) this.waiting.delete(session)
        try {
          signal.throwIfAborted()
          resolve(await work())
        } catch (err) {
          reject(err)
        }
      }
      waiting.add(run)
      void this.idle(session).then(run)
    })
  }

  /** A tool of the session has run. OpenCode waits until this resolves. */
  async toolEnded(session: string): Promise<void> {
    await Promise.all([...(this.waiting.get(session) ?? [])].map((run) => run()))
  }

  private idle(session: string): Promise<void> {
    const waiting = this.busy.get(session)
    return waiting ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()
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
    } while (this.busy.has(session))
  }

  /** Notes that a turn of the session runs: OpenCode asks for a pass only then. */
  turnRuns(session: string): void {
    if (!this.busy.has(session)) this.busy.set(session, [])
  }

  private settle(session: string): void {
    const waiting = this.busy.get(session) ?? []
    this.busy.delete(session)
    for (const resolve of waiting) resolve()
  }

  private forget(session: string): void {
    this.settle(session)
    this.parents.delete(session)
    this.conversations.delete(session)
    this.compacting.delete(session)
    this.aside.delete(session)
    this.hidden.delete(session)
    this.systems.delete(session)
  }
}
