import { within } from "@magicctx/shim-core"
import type { Client, Event, Message, ModelRef, SessionInfo } from "./opencode.ts"
import { Turns } from "./turns.ts"

const lookupMS = 1_000

const storeMS = 2_000

/** The newest user message of a conversation names its agent and model. */
export interface Conversation {
  agent?: string
  model?: ModelRef
}

/**
 * The child sessions of the host's hidden agents, in all instances of this process. The value is the last error that
 * OpenCode has reported for the session. Late events still name deleted sessions, so their ids stay here.
 */
export const children = new Map<string, unknown>()

/** How many steps each hidden agent may take, by the id of the agent's session. */
export const stepsOf = new Map<string, number>()

/** How many tokens each answer of a hidden agent may have, by the id of the agent's session. */
export const outputOf = new Map<string, number>()

/** If no hidden agent runs in this session, the process id is 0. */
export function owner({ parentID, title }: SessionInfo): number {
  return Number((parentID && /^magicctx: .* \(process (\d+)\)$/.exec(title ?? "")?.[1]) ?? 0)
}

export class Sessions extends Turns {
  /** Sessions whose next pass belongs to OpenCode's own compaction. */
  readonly compacting = new Set<string>()
  /** Sessions whose newest request, until the next pass, belongs to OpenCode's own compaction. */
  readonly aside = new Set<string>()
  /** The shim leaves the messages of hidden agents unchanged. */
  readonly hidden = new Set<string>()
  /** For each session: the texts that OpenCode makes from commands, with the typed lines. */
  private readonly templates = new Map<string, { text: string; line: string }[]>()
  private readonly client: Client
  private readonly parents = new Map<string, string>()
  private readonly conversations = new Map<string, Conversation>()
  /** Prompts that OpenCode stores, and that no pass has read yet. */
  private readonly unread = new Map<string, Set<string>>()
  /** The shim's own messages that OpenCode is storing now. */
  private readonly storing = new Map<string, Set<{ text: string; done: Promise<void> }>>()
  /** The time at which OpenCode finished storing the shim's last message, in ms. */
  private readonly storedAt = new Map<string, number>()
  private readonly ended = new Map<string, number>()

  constructor(client: Client) {
    super()
    this.client = client
  }

  observe({ type, properties }: Event): void {
    const { info, sessionID, status } = properties
    // The event can arrive before the answer to the call that creates the session.
    if (type === "session.created" && info?.id && owner(info) === process.pid) children.set(info.id, undefined)
    if ((type === "session.created" || type === "session.updated") && info?.id) this.parents.set(info.id, info.parentID ?? "")
    if (type === "session.deleted") this.forget(info?.id ?? sessionID ?? "")
    if (type === "session.status" && sessionID) {
      if (status?.type === "idle") this.turnEnds(sessionID)
      else this.turnRuns(sessionID)
    }
  }

  /** For a primary session, the parent is empty. */
  async parent(session: string): Promise<string> {
    const known = this.parents.get(session)
    if (known !== undefined) return known
    const answer = await within(lookupMS, this.client.session.get({ path: { id: session } }))
    const parent = answer?.data?.parentID ?? ""
    if (answer?.data) this.parents.set(session, parent)
    return parent
  }

  async isUntitled(session: string): Promise<boolean> {
    const answer = await within(lookupMS, this.client.session.get({ path: { id: session } }))
    return /^(New|Child) session - \d{4}-/.test(answer?.data?.title ?? "")
  }

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
   * A message that `work` stores during a turn would make OpenCode call the model once more. The event for the end of
   * a turn can arrive after the next prompt, so this method also asks OpenCode.
   */
  async whenIdle(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.idle(session)
      signal.throwIfAborted()
      const ended = this.ended.get(session)
      const isIdle = await this.isIdle(session)
      signal.throwIfAborted()
      if (this.isRunning(session)) continue // a prompt has arrived in the meantime
      if (isIdle) break // between this line and `store`, nothing may be awaited; see `prompted`
      if (this.ended.get(session) === ended) this.turnRuns(session) // the event for the turn's end is still to come
    }
    await work()
  }

  /** If OpenCode does not answer, the events alone decide. */
  private async isIdle(session: string): Promise<boolean> {
    const answer = await within(lookupMS, this.client.session.status({})).catch(() => undefined)
    const status = answer?.data?.[session]
    return status === undefined || status.type === "idle"
  }

  /** A prompt that arrives in the meantime waits until the shim's message is stored. */
  async store(session: string, text: string, work: () => Promise<void>): Promise<void> {
    const done = work().finally(() => {
      this.storedAt.set(session, Date.now())
      all.delete(entry)
      if (all.size === 0) this.storing.delete(session)
    })
    const entry = { text, done: done.catch(() => {}) }
    const all = this.storing.get(session) ?? new Set()
    this.storing.set(session, all.add(entry))
    await done
  }

  /**
   * Called before OpenCode stores a message of the user, which waits for the promise. The shim then stores no further
   * message until the turn of this prompt has ended. OpenCode answers the user message with the latest time. If the
   * shim is already storing a message, the prompt must therefore get a later time.
   */
  async prompted(session: string, message: { id: string; time: { created: number } }, text: string | undefined): Promise<void> {
    const ours = [...(this.storing.get(session) ?? [])]
    if (ours.some((entry) => entry.text === text)) return // our own message
    const unread = this.unread.get(session) ?? new Set()
    this.unread.set(session, unread.add(message.id))
    this.turnRuns(session)
    await within(storeMS, Promise.all(ours.map(({ done }) => done)))
    const stored = this.storedAt.get(session)
    if (stored !== undefined && message.time.created <= stored) message.time.created = Math.max(Date.now(), stored + 1)
  }

  /** OpenCode has made the parts from the command, and will store them as a message. */
  commanded({ sessionID, command, arguments: words }: { sessionID: string; command: string; arguments: string }, parts: unknown[]): void {
    const text = textsOf(parts)[0] // a command that runs in a subtask has no text
    if (text === undefined) return
    this.templates.set(sessionID, [...(this.templates.get(sessionID) ?? []), { text, line: `/${command} ${words}`.trimEnd() }])
  }

  /** The result is undefined if OpenCode did not make these parts from a command. */
  typedFor(session: string, parts: unknown[]): string | undefined {
    const waiting = this.templates.get(session)
    if (!waiting) return undefined
    const texts = textsOf(parts)
    const found = waiting.find(({ text }) => texts.includes(text))
    this.templates.set(session, waiting.filter((other) => other !== found))
    return found?.line
  }

  passReads(session: string, messages: readonly Message[]): void {
    const unread = this.unread.get(session)
    if (!unread) return
    for (const { info } of messages) unread.delete(info.id)
    if (unread.size === 0) this.unread.delete(session)
  }

  /** If a prompt still waits for its first pass, the ended turn is the one before that prompt. */
  private turnEnds(session: string): void {
    this.ended.set(session, (this.ended.get(session) ?? 0) + 1)
    if (!this.unread.has(session)) this.turnEnded(session)
  }

  private forget(session: string): void {
    this.turnEnded(session)
    this.parents.delete(session)
    this.conversations.delete(session)
    this.unread.delete(session)
    this.templates.delete(session)
    this.storedAt.delete(session)
    this.ended.delete(session)
    this.compacting.delete(session)
    this.aside.delete(session)
    this.hidden.delete(session)
  }
}

/** OpenCode treats texts that are not synthetic as the user's words. */
function textsOf(parts: unknown[]): string[] {
  return (parts as { type?: string; text?: string; synthetic?: boolean }[]).flatMap(({ type, text, synthetic }) => (type === "text" && text && !synthetic ? [text] : []))
}
