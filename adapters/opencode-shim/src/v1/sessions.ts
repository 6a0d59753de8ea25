import { within } from "@magicctx/shim-core"
import type { Client, Event, Message, ModelRef, SessionInfo } from "./opencode.ts"
import { Turns } from "./turns.ts"

const lookupMS = 1_000

const storeMS = 2_000

/** The agent and the model that the newest user message of a session names. */
export interface Conversation {
  agent?: string
  model?: ModelRef
}

/**
 * The last error of each hidden agent, by its session id. It is shared by all instances of OpenCode in this process. An
 * entry stays when its session ends, because events about the session may still arrive.
 */
export const children = new Map<string, unknown>()

/** How many steps each hidden agent may take, by its session id. 0 means that the shim has ended the agent. */
export const stepsOf = new Map<string, number>()

/** How many tokens each answer of a hidden agent may have, by the id of its session. */
export const outputOf = new Map<string, number>()

/** Returns the id of the process that runs a hidden agent in this session, or 0 if no hidden agent runs in it. */
export function owner({ parentID, title }: SessionInfo): number {
  return Number((parentID && /^magicctx: .* \(process (\d+)\)$/.exec(title ?? "")?.[1]) ?? 0)
}

export class Sessions extends Turns {
  /** Sessions whose next pass belongs to OpenCode's own compaction. */
  readonly compacting = new Set<string>()
  /** Sessions whose last request was OpenCode's own compaction. A session leaves the set on its next pass. */
  readonly aside = new Set<string>()
  /** Sessions in which a hidden agent runs. The shim does not change their messages. */
  readonly hidden = new Set<string>()
  /**
   * For each session, the commands that the user has entered, and whose message OpenCode has not stored yet. `line` is
   * the line that the user typed. `text` is the text into which OpenCode has expanded the command.
   */
  private readonly templates = new Map<string, { text: string; line: string }[]>()
  private readonly client: Client
  private readonly parents = new Map<string, string>()
  private readonly conversations = new Map<string, Conversation>()
  /** For each session, the ids of prompts that no pass has read yet. */
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
    // This event can arrive before runAgent receives the id of the new session, so the shim recognises the session by
    // its title.
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
   * Waits until no turn of the session runs, and then calls `work`. If `work` stored a message during a turn, OpenCode
   * would call the model again. The event for the end of a turn can arrive late, even after the next prompt, so
   * whenIdle also asks OpenCode.
   */
  async whenIdle(session: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.idle(session)
      signal.throwIfAborted()
      const ended = this.ended.get(session)
      const isIdle = await this.isIdle(session)
      signal.throwIfAborted()
      if (this.isRunning(session)) continue // a prompt arrived while the shim asked
      if (isIdle) break // between this line and `store`, nothing may be awaited; see `prompted`
      if (this.ended.get(session) === ended) this.turnRuns(session) // the event for the turn's end is still to come
    }
    await work()
  }

  /**
   * Asks OpenCode whether the session is idle. If OpenCode does not answer, the result is true. The events alone then
   * tell whenIdle whether a turn runs.
   */
  private async isIdle(session: string): Promise<boolean> {
    const answer = await within(lookupMS, this.client.session.status({})).catch(() => undefined)
    const status = answer?.data?.[session]
    return status === undefined || status.type === "idle"
  }

  /**
   * Calls `work` to store a message of the shim. If the user sends a prompt meanwhile, `prompted` makes the prompt wait
   * until `work` is done.
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
   * OpenCode calls this method before it stores a user message, and waits until it returns. From then on, the shim
   * stores no message until the prompt's turn ends. If the shim is already storing a message of its own, `prompted`
   * waits until that message is stored. Then it gives the prompt a later time than the shim's message, because OpenCode
   * answers the user message with the latest time.
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

  /** Called after OpenCode has made a message from a command, and before OpenCode stores the message. */
  commanded({ sessionID, command, arguments: words }: { sessionID: string; command: string; arguments: string }, parts: unknown[]): void {
    const text = textsOf(parts)[0] // a command that runs in a subtask has no text
    if (text === undefined) return
    this.templates.set(sessionID, [...(this.templates.get(sessionID) ?? []), { text, line: `/${command} ${words}`.trimEnd() }])
  }

  /**
   * Returns the line that the user typed, for example `/review src`, or undefined if the parts do not come from a
   * command.
   */
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

  /**
   * Called when OpenCode reports the end of a turn. If a prompt still waits for its first pass, the report is about an
   * earlier turn, so the session is not idle.
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

/** Returns the texts that OpenCode treats as the user's words. These are all texts that are not synthetic. */
function textsOf(parts: unknown[]): string[] {
  return (parts as { type?: string; text?: string; synthetic?: boolean }[]).flatMap(({ type, text, synthetic }) => (type === "text" && text && !synthetic ? [text] : []))
}
