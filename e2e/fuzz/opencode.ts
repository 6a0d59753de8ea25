import type { Hooks, PluginInput, PromptBody } from "../../adapters/opencode-shim/src/v1/opencode.ts"
import { Random } from "./random.ts"
import type { Summary } from "./historian.ts"
import { models, type Model } from "./provider.ts"

/** Plays OpenCode 1.18: its stored data, the arrays that it gives to its plugins, and its events. */

export interface Part {
  id?: string
  sessionID?: string
  messageID?: string
  type: string
  text?: string
  synthetic?: boolean
  ignored?: boolean
  metadata?: Record<string, unknown>
  callID?: string
  tool?: string
  mime?: string
  url?: string
  state?: {
    status: "pending" | "running" | "completed" | "error"
    input: unknown
    output?: string
    error?: string
    title?: string
    metadata?: Record<string, unknown>
    time?: { start: number; end?: number; compacted?: number }
  }
  [more: string]: unknown
}

export interface Tokens {
  total?: number
  input: number
  output: number
  reasoning: number
  cache: { read: number; write: number }
}

export interface Info {
  id: string
  sessionID: string
  role: "user" | "assistant"
  time: { created: number; completed?: number }
  agent: string
  model?: { providerID: string; modelID: string }
  parentID?: string
  providerID?: string
  modelID?: string
  finish?: string
  tokens?: Tokens
  error?: { name: string; data: Record<string, unknown> }
  [more: string]: unknown
}

export interface Message {
  info: Info
  parts: Part[]
}

/**
 * A stored message. As in OpenCode, it is stored as bytes and decoded again for each pass, so a pass cannot change the
 * stored message.
 */
export class Row {
  private bytes: string | undefined
  readonly message: Message

  constructor(message: Message) {
    this.message = message
  }

  get id(): string {
    return this.message.info.id
  }

  /** Whether the user typed the message. In OpenCode 2, other messages have the role user, too. */
  get isPrompt(): boolean {
    const { role, kind } = this.message.info
    return role === "user" && kind === undefined
  }

  version = 0

  /** Must be called after each change. */
  changed(): void {
    this.bytes = undefined
    this.version++
  }

  get json(): string {
    return (this.bytes ??= JSON.stringify(this.message))
  }

  copy(): Message {
    return JSON.parse(this.json) as Message
  }
}

export interface Clock {
  now(): number
}

/** Creates ids as OpenCode does: ids ascend with time, and end in random characters. */
export class Ids {
  private last = 0
  private counter = 0
  private readonly random: Random
  private readonly clock: Clock

  constructor(random: Random, clock: Clock) {
    this.random = random
    this.clock = clock
  }

  next(prefix: "msg" | "prt" | "ses" | "evt"): string {
    const now = this.clock.now()
    this.counter = now > this.last ? 1 : this.counter + 1
    this.last = Math.max(now, this.last)
    const hex = ((BigInt(this.last) * 4096n + BigInt(this.counter)) & 0xffffffffffffn).toString(16).padStart(12, "0")
    return `${prefix}_${hex}${this.random.id(14)}`
  }
}

export const noTokens = (): Tokens => ({ input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } })

/** In plan mode, OpenCode adds this text to the newest user message, in memory only. */
export const planReminder =
  "<system-reminder>\n# Plan Mode - System Reminder\n\nCRITICAL: Plan mode ACTIVE - you are in READ-ONLY phase. STRICTLY FORBIDDEN: " +
  "ANY file edits, modifications, or system changes. You may ONLY observe, analyze, and plan.\n</system-reminder>"

export class Session {
  readonly id: string
  rows: Row[] = []
  /** Another branch of the session, in Pi. */
  branch: Row[] | undefined
  /** The session of which this one is a fork. */
  original: string | undefined
  model: Model = models[0]!
  agent = "build"
  /** In OpenCode 2: the instructions in the system prompt, and the instructions that the model was last told. */
  baseline = ""
  told = ""
  /** Whether the newest user message of the next array gets the plan reminder. */
  reminds = false

  constructor(id: string) {
    this.id = id
  }

  newestUser(): Row | undefined {
    return this.rows.findLast((row) => row.isPrompt)
  }

  newestAssistant(): Row | undefined {
    return this.rows.findLast((row) => row.message.info.role === "assistant")
  }

  /**
   * The rows that OpenCode reads. After a compaction, these are the two rows of the compaction, the turns that it kept,
   * and all later rows.
   */
  visible(): Row[] {
    const checkpoint = this.rows.findLastIndex(({ message }) => message.info.kind === "compaction")
    if (checkpoint >= 0) return this.rows.slice(checkpoint)
    const at = this.rows.findLastIndex(({ message }) => message.parts[0]?.type === "compaction")
    if (at < 0) return this.rows
    const kept = this.rows.findIndex(({ id }) => id === this.rows[at]!.message.parts[0]!.tail_start_id)
    return [...this.rows.slice(at, at + 2), ...(kept < 0 ? [] : this.rows.slice(kept, at)), ...this.rows.slice(at + 2)]
  }

  /** The array of a request. Each request decodes the rows again, and the reminder gets a new id each time. */
  array(ids: Ids): Message[] {
    const array = this.visible().map((row) => row.copy())
    if (this.reminds) {
      const message = array.findLast((m) => m.info.role === "user")!
      message.parts.push({
        id: ids.next("prt"), sessionID: this.id, messageID: message.info.id, type: "text", text: planReminder, synthetic: true,
      })
    }
    return array
  }
}

export interface OpenCodeEvent {
  type: string
  properties: Record<string, unknown>
}

export class Plugin {
  readonly toasts: string[] = []
  readonly sessions: Map<string, Session>
  private hooks: Hooks | undefined
  private readonly windows: ReadonlyMap<Model, number>
  private readonly ids: Ids
  private readonly clock: Clock
  private readonly directory: string
  private readonly agent: (prompt: string) => Summary
  /** The sessions of hidden agents, with their answers. */
  private readonly children = new Map<string, Message[]>()

  constructor(directory: string, sessions: Map<string, Session>, windows: ReadonlyMap<Model, number>, ids: Ids, clock: Clock, agent: (prompt: string) => Summary) {
    this.agent = agent
    this.directory = directory
    this.sessions = sessions
    this.windows = windows
    this.ids = ids
    this.clock = clock
  }

  async load(server: unknown): Promise<void> {
    this.hooks = await (server as (input: PluginInput) => Promise<Hooks>)({ client: this.client, directory: this.directory, worktree: this.directory })
    await this.hooks.config?.({ agent: {}, command: {} })
  }

  async dispose(): Promise<void> {
    await this.hooks?.dispose?.()
    this.hooks = undefined
  }

  get has(): Hooks {
    return this.hooks!
  }

  /** Sends an event to the plugin. Like OpenCode, it does not wait for the plugin. */
  tell(type: string, properties: Record<string, unknown>): void {
    // The plugin gets a copy, so that it does not see later changes of the properties.
    const event = JSON.parse(JSON.stringify({ id: this.ids.next("evt"), type, properties }))
    void this.hooks!.event!({ event })
  }

  updated(row: Row): void {
    this.tell("message.updated", { sessionID: row.message.info.sessionID, info: row.message.info })
  }

  key(message: string): string {
    return message
  }

  async settled(): Promise<void> {}

  async moved(_: Session): Promise<void> {}

  private readonly client: PluginInput["client"] = {
    app: { log: async () => ({}) },
    config: { providers: async () => ({ data: { providers: this.catalogue() } }) },
    session: {
      get: async ({ path: { id } }) => ({ data: { id } }),
      list: async () => ({ data: [] }),
      create: async () => {
        const id = this.ids.next("ses")
        this.children.set(id, [])
        return { data: { id } }
      },
      delete: async ({ path: { id } }) => {
        this.children.delete(id)
        return {}
      },
      abort: async () => ({}),
      messages: async ({ path: { id } }) => ({ data: this.children.get(id) ?? this.sessions.get(id)?.rows.map((row) => row.copy()) ?? [] }),
      prompt: async ({ path: { id }, body }) => {
        if (this.children.has(id)) return this.runAgent(id, body)
        this.store(id, body)
        return {}
      },
      status: async () => ({ data: {} }),
    },
    tui: {
      showToast: async ({ body }) => {
        this.toasts.push(body.message)
        return {}
      },
    },
  }

  private async runAgent(id: string, { parts, model }: PromptBody): Promise<{ error?: unknown }> {
    const { text, error, waitMS } = this.agent(parts.map((part) => part.text).join("\n"))
    if (waitMS > 0) await new Promise((resolve) => setTimeout(resolve, waitMS))
    if (error) return { error: { name: "APIError", data: { message: error, statusCode: Number.parseInt(error) || 400 } } }
    const now = this.clock.now()
    const info: Info = {
      id: this.ids.next("msg"), sessionID: id, role: "assistant", time: { created: now, completed: now }, agent: "historian", finish: "stop",
      providerID: model?.providerID ?? "", modelID: model?.modelID ?? "", tokens: { ...noTokens(), input: 1000, output: 200 },
    }
    this.children.get(id)?.push({ info, parts: [{ id: this.ids.next("prt"), sessionID: id, messageID: info.id, type: "text", text }] })
    return {}
  }

  private catalogue(): { id: string; models: Record<string, object> }[] {
    const providers = new Map<string, Record<string, object>>()
    for (const [model, context] of this.windows) {
      const its = providers.get(model.provider) ?? {}
      its[model.id] = { limit: { context, output: 2000 }, cost: model.cost, api: { npm: model.npm } }
      providers.set(model.provider, its)
    }
    return [...providers].map(([id, its]) => ({ id, models: its }))
  }

  private store(id: string, body: PromptBody): void {
    const session = this.sessions.get(id)
    if (!session) return
    const message = userMessage(session, this.ids, this.clock)
    for (const part of body.parts) message.parts.push({ ...part, id: this.ids.next("prt"), sessionID: id, messageID: message.info.id })
    session.rows.push(new Row(message))
    this.updated(session.rows.at(-1)!)
  }
}

export function userMessage(session: Session, ids: Ids, clock: Clock): Message {
  const { provider, id } = session.model
  return {
    info: {
      id: ids.next("msg"), sessionID: session.id, role: "user", time: { created: clock.now() },
      agent: session.agent, model: { providerID: provider, modelID: id },
    },
    parts: [],
  }
}

/**
 * Copies the messages of a session before index `before`. All ids are new, except those of calls. Times and usage are
 * the same.
 */
export function fork(session: Session, before: number, ids: Ids): { copy: Session; copied: Map<string, string> } {
  const copy = new Session(ids.next("ses"))
  copy.model = session.model
  copy.original = session.id
  copy.baseline = session.baseline
  copy.told = session.told
  const copied = new Map<string, string>()
  for (const row of session.rows.slice(0, before)) {
    const message = row.copy()
    const id = ids.next("msg")
    copied.set(message.info.id, id)
    const parent = message.info.parentID && copied.get(message.info.parentID)
    message.info = { ...message.info, sessionID: copy.id, id, ...(parent && { parentID: parent }) }
    message.parts = message.parts.map((part) => {
      const start = copied.get(part.tail_start_id as string)
      return { ...part, id: ids.next("prt"), messageID: id, sessionID: copy.id, ...(start && { tail_start_id: start }) }
    })
    copy.rows.push(new Row(message))
  }
  return { copy, copied }
}
