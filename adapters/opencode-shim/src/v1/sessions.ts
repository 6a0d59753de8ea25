import { within } from "@magicctx/shim-core"
import type { Client, Event, Message, ModelRef, SessionInfo } from "./opencode.ts"
import { Turns } from "./turns.ts"

/** How long a question about a session may delay the session's first pass, in ms. */
const lookupMS = 1_000

/** How long a prompt may wait while the shim stores one of its messages, in ms. */
const storeMS = 2_000

/** The agent and model of a conversation, as its newest user message names them. */
export interface Conversation {
  agent?: string
  model?: ModelRef
}

/**
 * The child sessions in which the host's hidden agents run, in all instances of this process. The value is the last
 * error that OpenCode has reported for the session. No hook touches these sessions. When a session is deleted, its id
 * stays here, because late events still name it.
 */
export const children = new Map<string, unknown>()

/** How many steps each hidden agent may take, by the id of the agent's session. */
export const stepsOf = new Map<string, number>()

/** How many tokens each answer of a hidden agent may have, by the id of the agent's session. */
export const outputOf = new Map<string, number>()

/** The id of the process that runs a hidden agent in this session; 0 if no hidden agent runs in it. */
export function owner({ parentID, title }: SessionInfo): number {
  return Number((parentID && /^magicctx: .* \(process (\d+)\)$/.exec(title ?? "")?.[1]) ?? 0)
}

/** The facts that the shim itself must know about OpenCode's sessions. */
export class Sessions extends Turns {
  /** Sessions whose next pass belongs to OpenCode's own compaction. */
  readonly compacting = new Set<string>()
  /** Sessions whose newest request belongs to OpenCode's own compaction. A session stays here until its next pass. */
  readonly aside = new Set<string>()
  /** Sessions in which a hidden agent works. The shim leaves their messages unchanged. */
  readonly hidden = new Set<string>()
  /** The texts of commands that OpenCode is about to store, with the lines that the user typed, by session. */
  private readonly templates = new Map<string, { text: string; line: string }[]>()
  private readonly client: Client
  private readonly parents = new Map<string, string>()
  private readonly conversations = new Map<string, Conversation>()
  /** Prompts that OpenCode has stored, or is storing, and that no pass has read yet. */
  private readonly unread = new Map<string, Set<string>>()
  /** The shim's own messages that OpenCode is storing now. None of them asks for an answer. */
  private readonly storing = new Map<string, Set<{ text: string; done: Promise<void> }>>()
  /** The time at which OpenCode finished storing the shim's last message, by session, in ms. */
  private readonly storedAt = new Map<string, number>()
  /** The number of turns that have ended, counted from events. */
  private readonly ended = new Map<string, number>()

  constructor(client: Client) {
    super()
    this.client = client
  }

  /** Updates these facts from an event. */
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

  /** The session that spawned this session; empty for a primary session. */
  async parent(session: string): Promise<string> {
    const known = this.parents.get(session)
    if (known !== undefined) return known
    const answer = await within(lookupMS, this.client.session.get({ path: { id: session } }))
    const parent = answer?.data?.parentID ?? ""
    if (answer?.data) this.parents.set(session, parent)
    return parent
  }

  /** Whether OpenCode has not made a title for the session yet. */
  async isUntitled(session: string): Promise<boolean> {
    const answer = await within(lookupMS, this.client.session.get({ path: { id: session } }))
    return /^(New|Child) session - \d{4}-/.test(answer?.data?.title ?? "")
  }

  /** Notes the agent and model of the conversation, and returns them. */
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
   * Runs `work` when the session has no running turn, unless the signal ends the wait. A message that `work` stores
   * during a turn would make OpenCode call the model once more. The event for the end of a turn can arrive late, when
   * the next prompt is already there. So this method also asks OpenCode.
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

  /**
   * Whether OpenCode says that the session has no running turn. If OpenCode does not answer, the events alone decide.
   */
  private async isIdle(session: string): Promise<boolean> {
    const answer = await within(lookupMS, this.client.session.status({})).catch(() => undefined)
    const status = answer?.data?.[session]
    return status === undefined || status.type === "idle"
  }

  /**
   * Stores a message of the shim that asks for no answer. A prompt that arrives in the meantime waits until the message
   * is stored.
   */
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
   * Called before OpenCode stores a message of the user. OpenCode waits until the promise resolves. The shim then
   * stores no further message until the turn of this prompt has ended. OpenCode answers the user message that has the
   * latest time. So if the shim is already storing a message, the prompt gets a later time than that message.
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

  /**
   * Notes a command that the user typed. The parts are those that OpenCode has made from the command, and will store as
   * a message.
   */
  commanded({ sessionID, command, arguments: words }: { sessionID: string; command: string; arguments: string }, parts: unknown[]): void {
    const text = textsOf(parts)[0] // a command that runs in a subtask has no text
    if (text === undefined) return
    this.templates.set(sessionID, [...(this.templates.get(sessionID) ?? []), { text, line: `/${command} ${words}`.trimEnd() }])
  }

  /** The line that the user typed, if OpenCode made the message with these parts from a command. */
  typedFor(session: string, parts: unknown[]): string | undefined {
    const waiting = this.templates.get(session)
    if (!waiting) return undefined
    const texts = textsOf(parts)
    const found = waiting.find(({ text }) => texts.includes(text))
    this.templates.set(session, waiting.filter((other) => other !== found))
    return found?.line
  }

  /** Records that a pass reads these messages. */
  passReads(session: string, messages: readonly Message[]): void {
    const unread = this.unread.get(session)
    if (!unread) return
    for (const { info } of messages) unread.delete(info.id)
    if (unread.size === 0) this.unread.delete(session)
  }

  /**
   * Records that a turn has ended. If a prompt still waits for its first pass, the ended turn is the one before that
   * prompt.
   */
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

/** Returns the texts of a message that are not synthetic. OpenCode treats these as the user's words. */
function textsOf(parts: unknown[]): string[] {
  return (parts as { type?: string; text?: string; synthetic?: boolean }[]).flatMap(({ type, text, synthetic }) => (type === "text" && text && !synthetic ? [text] : []))
}
