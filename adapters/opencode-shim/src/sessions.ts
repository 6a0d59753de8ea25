import type { Client, Event, Message, ModelRef } from "./opencode.ts"

/** How long a question about a session may hold up its first pass, ms. */
const lookupMS = 1_000

/** What the conversation runs on, as its newest user message says. */
export interface Conversation {
  agent?: string
  model?: ModelRef
}

/** What the shim itself must know of OpenCode's sessions. */
export class Sessions {
  /** Sessions whose next pass is that of a native compaction. */
  readonly compacting = new Set<string>()
  /** Sessions in which a hidden agent works: the shim passes them through. */
  readonly hidden = new Set<string>()
  /** The last system prompt of each session, and the question that it answered. */
  readonly systems = new Map<string, { question: string; system: string[] }>()
  private readonly client: Client
  private readonly parents = new Map<string, string>()
  private readonly busy = new Map<string, Array<() => void>>()
  /** Work that waits for a tool of the session to end. */
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
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, lookupMS, undefined)))
    const answer = await Promise.race([this.client.session.get({ path: { id: session } }), late])
    clearTimeout(timer)
    const parent = answer?.data?.parentID ?? ""
    if (answer?.data) this.parents.set(session, parent)
    return parent
  }

  /** Notes what the conversation runs on and returns it. */
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

  /** Runs work when no turn runs in the session, unless signal ends the wait. */
  async whenIdle(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.idle(session)
    signal.throwIfAborted()
    await work()
  }

  /**
   * Runs work when a tool of the session has run and OpenCode still waits for it, or when no turn runs. What it stores is read by the very
   * next request. Stored between two steps it could miss the request that is being made and yet precede its answer: the request after that
   * would find it in the middle of what was sent.
   */
  beforeNextRequest(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(session) ?? new Set()
      this.waiting.set(session, waiting)
      const run = async () => {
        if (!waiting.delete(run)) return // the tool and the idle session both came
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

  /** A tool of the session has run; OpenCode waits until this resolves. */
  async toolEnded(session: string): Promise<void> {
    await Promise.all([...(this.waiting.get(session) ?? [])].map((run) => run()))
  }

  private idle(session: string): Promise<void> {
    const waiting = this.busy.get(session)
    return waiting ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()
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
    this.hidden.delete(session)
    this.systems.delete(session)
  }
}
