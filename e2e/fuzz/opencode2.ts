import type { Hooks } from "../../adapters/opencode-shim/src/v1/opencode.ts"
import type { Event, EventData, PluginContext, RpcHandlers, SessionContext, StoredMessage, ToolRegistration } from "../../adapters/opencode-shim/src/v2/opencode2.ts"
import { arrayOf, CacheHint, read, stepsOf, type Entry, type Raw } from "./entries.ts"
import { Hidden } from "./hidden.ts"
import { checked, lower } from "./lower.ts"
import type { Info, Message, OpenCodeEvent, Row, Session } from "./opencode.ts"
import type { Model, Turn } from "./provider.ts"
import { Random } from "./random.ts"
import type { RealArrays } from "./really.ts"
import type { World } from "./world.ts"

/**
 * OpenCode2 plays OpenCode 2.0.26 or its beta, whose plugin interface has fewer members. It has the same methods as
 * Plugin, which plays OpenCode 1. So the world and the judge need to know only the messages of OpenCode 1, and
 * entries.ts translates the messages.
 */

type Setup = (ctx: PluginContext) => Promise<(() => void) | undefined>
type Callback = (event: object) => Promise<void>

class SystemPart {
  readonly type = "text"
  readonly text: string
  readonly cache?: CacheHint

  constructor(text: string, cache?: CacheHint) {
    this.text = text
    if (cache) this.cache = cache
  }
}

export interface Exchange {
  turns: { raw: Turn[]; wire: Turn[] }
  real: RealArrays
  /** Whether the hook has not changed the array. */
  isUntouched: boolean
  system: string[]
}

const answerTokens = 2000
const tools = ["read", "edit", "write", "shell", "grep", "webfetch"]

export class OpenCode2 {
  readonly isBeta: boolean
  readonly world: World
  private readonly hooks = new Map<string, Callback[]>()
  private readonly tools = new Map<string, ToolRegistration>()
  private readonly readers = new Set<(event: Event | Error) => void>()
  private readonly storage = new Map<string, unknown>()
  private readonly hidden: Hidden
  private terminal: RpcHandlers = {}
  private readonly lateMS: number
  /** Whether the error of a refused request contains the provider's message, as in the beta. */
  private readonly says: boolean
  private readonly keys = new Map<string, string>()
  private disposePlugin: (() => void) | undefined
  /** The answer to the next request. Its step starts when that request is sent. */
  private waiting: Row | undefined
  private readonly started = new Set<string>()
  private requests = 0
  newest: Exchange | undefined
  /** The running hook of a turn that the user has interrupted. OpenCode does not wait for the end of this hook. */
  private abandoned: Promise<unknown> = Promise.resolve()

  constructor(world: World) {
    const random = Random.of(world.seed, "version")
    this.world = world
    this.isBeta = random.chance(0.25)
    this.lateMS = random.pick([0, 0, 3])
    this.says = random.chance(0.5)
    this.hidden = new Hidden(this)
  }

  async load(setup: unknown): Promise<void> {
    this.disposePlugin = await (setup as Setup)(this.context())
  }

  get isLoaded(): boolean {
    return this.hooks.size > 0
  }

  async dispose(): Promise<void> {
    this.disposePlugin?.()
    this.hooks.clear()
    this.tools.clear()
  }

  /** The beta lacks many members of this interface. */
  private context(): PluginContext {
    const { directory } = this
    const { isBeta } = this
    const models = async () => ({ data: this.models() })
    const session = {
      hook: async (name: string, callback: Callback) => {
        this.hooks.set(name, [...(this.hooks.get(name) ?? []), callback])
        return { dispose: async () => {} }
      },
      get: async ({ sessionID: id }: { sessionID: string }) => ({ id, location: { directory } }),
      ...this.hidden.calls,
      ...(!isBeta && {
        context: async ({ sessionID }: { sessionID: string }) => this.hidden.stored(sessionID) ?? this.stored(sessionID),
      }),
    }
    const ctx = {
      session,
      tool: { transform: async (edit: (editor: object) => void) => this.register(edit) },
      event: { subscribe: (options?: { signal?: AbortSignal }) => this.events(options?.signal) },
      ...(isBeta
        ? { plugin: { list: async () => ({ location: { directory }, data: [] }) }, catalog: { model: { list: models }, provider: { list: async () => ({ data: [] }) } } }
        : {
            app: { name: "opencode", version: "2.0.26" }, location: { directory }, model: { list: models }, provider: { list: async () => ({ data: [] }) },
            rpc: {
              register: async (_: object, handlers: RpcHandlers) => {
                this.terminal = handlers
                return { events: { emit: async () => {} }, dispose: async () => {} }
              },
            },
            storage: {
              set: async (key: string, value: unknown) => this.storage.set(key, value),
              remove: async (key: string) => this.storage.delete(key),
              scan: async ({ prefix }: { prefix: string }) => ({ entries: [...this.storage].flatMap(([key, value]) => (key.startsWith(prefix) ? [{ key, value }] : [])) }),
            },
          }),
    }
    return ctx as unknown as PluginContext
  }

  get directory(): string {
    return this.world.machine.project
  }

  private models(): object[] {
    return [...this.world.windows].map(([{ id, provider, npm, cost }, context]) => ({
      id, providerID: provider, package: `aisdk:${npm}`, limit: { context, output: answerTokens }, cost: [{ input: cost.input, output: cost.output, cache: cost.cache }],
    }))
  }

  private async register(edit: (editor: object) => void): Promise<object> {
    const names: string[] = []
    edit({
      add: (tool: ToolRegistration) => {
        names.push(tool.name)
        this.tools.set(tool.name, tool)
      },
    })
    return { dispose: async () => names.forEach((name) => this.tools.delete(name)) }
  }

  private async *events(signal?: AbortSignal): AsyncGenerator<Event> {
    const queue: (Event | Error)[] = []
    let wake = () => {}
    const reader = (event: Event | Error) => {
      queue.push(event)
      wake()
    }
    this.readers.add(reader)
    signal?.addEventListener("abort", () => wake())
    try {
      while (!signal?.aborted) {
        const event = queue.shift()
        if (event instanceof Error) throw event
        if (event) yield event
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      this.readers.delete(reader)
    }
  }

  emit(type: string, data: EventData & Record<string, unknown>, created = this.world.machine.now()): void {
    // Readers get a copy of the data, so later changes to the data do not change the event.
    const event = JSON.parse(JSON.stringify({ id: this.world.ids.next("evt"), type, created, location: { directory: this.directory }, data })) as Event
    for (const reader of this.readers) reader(event)
  }

  get isRead(): boolean {
    return this.readers.size > 0
  }

  /**
   * Ends the stream of events. OpenCode does this to a slow reader. Until the shim subscribes again, events are lost.
   */
  cut(): void {
    for (const reader of this.readers) reader(new Error("too slow"))
  }

  /**
   * `type` is an event of OpenCode 1. This method emits the corresponding event of OpenCode 2, which may have another
   * name. If there is none, it emits nothing.
   */
  tell(type: OpenCodeEvent["type"], { sessionID, info }: Record<string, unknown>): void {
    const data = { sessionID: sessionID as string }
    if (type === "session.created") this.emit(type, { ...data, title: (info as { title: string }).title })
    if (type === "session.compacted") this.emit("session.compaction.ended", data)
    if (type === "session.idle") this.emit("session.execution.succeeded", data)
    if (type === "message.removed") this.emit("session.revert.committed", data)
  }

  /** An answer has begun, ended or failed. */
  updated(row: Row): void {
    const { info } = row.message
    if (info.role !== "assistant") return
    const { id, sessionID, error, time, finish, tokens } = info
    if (time.completed === undefined && !error) {
      if (!this.started.has(id)) this.waiting = row
      return
    }
    this.starts() // a request may fail before it has an answer
    const data = { sessionID, assistantMessageID: id }
    if (error) this.emit("session.step.failed", { ...data, error: this.errorOf(error) }, time.completed)
    else this.emit("session.step.ended", { ...data, finish: finish ?? "stop", tokens: tokens! }, time.completed)
  }

  /** Simulates a retry: OpenCode asks the model for the same answer again. The new attempt starts without content. */
  again(row: Row): void {
    this.waiting = row
  }

  private starts(): void {
    if (!this.waiting) return
    const { info } = this.waiting.message
    const created = (info.time.created = this.world.machine.now())
    const data = { sessionID: info.sessionID, assistantMessageID: info.id, agent: info.agent, model: { providerID: info.providerID!, id: info.modelID! } }
    if (this.isBeta) this.emit("session.step.started", data, created)
    else this.emit("session.step.started", { ...data, started: created }, created + this.lateMS)
    this.started.add(info.id)
    this.waiting = undefined
  }

  private stored(id: string): StoredMessage[] {
    const rows = this.world.sessions.get(id)?.visible() ?? []
    return rows.flatMap((row): StoredMessage[] => {
      const { info, parts } = row.copy()
      if (info.kind === "plugin") return []
      const model = info.providerID === undefined ? undefined : { providerID: info.providerID, id: info.modelID! }
      return [{
        id: info.id, type: info.role === "assistant" ? "assistant" : ((info.kind as string) ?? "user"), time: info.time, agent: info.agent, ...(model && { model }),
        ...((info.error || info.finish) && { finish: info.error ? "error" : info.finish }), ...(info.role === "assistant" && info.finish && { tokens: info.tokens! }), ...(info.error && { error: this.errorOf(info.error) }),
        ...(info.role === "user" && info.kind === undefined && { text: parts.find(({ type, synthetic }) => type === "text" && !synthetic)?.text ?? "" }),
      } as StoredMessage]
    })
  }

  /** Converts an error of OpenCode 1 to OpenCode 2. */
  private errorOf({ name, data }: NonNullable<Info["error"]>): { type: string; message: string; status?: number; response?: { body: string } } {
    const message = String(data.message)
    if (name === "MessageAbortedError") return { type: "aborted", message: "Step interrupted" }
    if (name === "ContextOverflowError") {
      const body = String(data.responseBody)
      const text = "Provider request failed with HTTP 400"
      return this.says ? { type: "provider.invalid-request", message: `${text}: ${body}` } : { type: "provider.invalid-request", message: text, status: 400, response: { body } }
    }
    const type = message.startsWith("rate") ? "provider.rate-limit" : message === "bad key" ? "provider.auth" : "provider.internal"
    return { type, message, status: Number(data.statusCode), response: { body: message } }
  }

  /**
   * The world calls the hooks by their names in OpenCode 1. For each of these names, this object has a function that
   * plays what OpenCode 2 does at the same point of a turn.
   */
  get has(): Hooks {
    const hooks = {
      "experimental.chat.messages.transform": async (_: unknown, { messages }: { messages: Message[] }) => {
        const session = this.world.sessions.get(messages[0]!.info.sessionID)!
        const { event, raw } = await this.request("context", session, messages)
        const { messages: wire, owners } = read(event.messages as Entry[], raw)
        const { model } = session
        const [sent, was, is] = [event.messages as Entry[], ownerIn(raw), (entry: Entry) => owners.get(entry)!]
        this.newest = {
          isUntouched: sent.length === raw.entries.length && sent.every((entry, i) => entry === raw.entries[i]),
          turns: { raw: lower(raw.entries, was, model), wire: lower(sent, is, model) }, system: event.system.map(({ text }) => text),
          real: { harness: "opencode2", raw: stepsOf(raw.entries, was, raw, model), wire: stepsOf(sent, is, raw, model) },
        }
        messages.splice(0, messages.length, ...wire)
      },
      "experimental.chat.system.transform": async (_: unknown, { system }: { system: string[] }) => {
        system.splice(0, system.length, ...this.newest!.system)
        this.starts()
      },
      tool: Object.fromEntries([...this.tools].map(([name, tool]) => [name, {
        execute: async (args: unknown, { sessionID, callID, abort: signal }: { sessionID: string; callID: string; abort: AbortSignal }) =>
          ({ output: (await tool.execute(args, { sessionID, signal, ...(this.isBeta ? { callID } : { id: callID }) })).content[0]!.text }),
      }])),
    }
    return hooks as unknown as Hooks
  }

  /** OpenCode passes new objects to each call of a hook, and so does this method. */
  private async request(hook: string, session: Session, messages: readonly Message[], more: object = {}): Promise<{ event: SessionContext & { result?: { summary: string } }; raw: Raw }> {
    const { world } = this
    const raw = arrayOf(messages, session.model, this.isBeta)
    const random = Random.of(world.seed, "request", ++this.requests)
    const parts = world.systemParts()
    const system = parts.map((text, i) => new SystemPart(text, random.chance(0.1) && i === parts.length - 1 ? new CacheHint() : undefined))
    const definitions = Object.fromEntries([...tools, ...this.tools.keys()].map((name) => [name, { description: name, input: {} }]))
    const least = random.pick([1024, 1500, answerTokens])
    const event = {
      sessionID: session.id, agent: session.agent, model: refOf(session.model), system: [...system], messages: [...raw.entries], tools: definitions,
      ...(!this.isBeta && { options: { maxTokens: least, temperature: 1 } }), ...more,
    }
    const before = JSON.stringify(raw.entries)
    await this.call(hook, event)
    const find = (rule: string, detail: string) => world.find(rule, `${hook}: ${detail}`)
    for (const { rule, detail } of checked(event.messages, raw)) find(rule, detail)
    if (JSON.stringify(raw.entries) !== before) find("mutated", "OpenCode's own objects were changed")
    if (event.tools !== definitions) find("tools", "the tools are not OpenCode's")
    event.system.forEach((part, i) => part !== system[i] && part.text === system[i]?.text && find("copied", `part ${i} of the system prompt is a copy`))
    for (const { text, cache } of event.system) if (typeof text !== "string" || (cache !== undefined && !(cache instanceof CacheHint))) find("schema", "a part of the system prompt has another form")
    const { maxTokens = least } = event.options ?? {}
    if (maxTokens < least || maxTokens > answerTokens) find("answer-length", `OpenCode has asked for at most ${least} tokens, and ${maxTokens} are asked for, of ${answerTokens}`)
    for (const [message, key] of raw.keys) this.keys.set(message, key)
    return { event: event as never, raw }
  }

  async call(hook: string, event: object): Promise<void> {
    for (const callback of this.hooks.get(hook) ?? []) await callback(event)
  }

  /** The user interrupts the turn at once, while the request's hook is still running. */
  abandon(session: Session): void {
    const messages = session.array(this.world.ids)
    this.abandoned = this.request("context", session, messages).catch((err) => this.world.find("hook-threw", String(err))).then(() => this.world.outcome())
    this.emit("session.execution.interrupted", { sessionID: session.id })
  }

  async settled(): Promise<void> {
    await this.abandoned
  }

  async warm(session: Session): Promise<{ turns: Turn[]; raw: Turn[]; system: string }> {
    const { event, raw } = await this.request("generate", session, session.array(this.world.ids))
    const { owners } = read(event.messages as Entry[], raw)
    return { raw: lower(raw.entries, ownerIn(raw), session.model), turns: lower(event.messages as Entry[], (entry) => owners.get(entry)!, session.model), system: event.system.map(({ text }) => text).join("\n") }
  }

  async command(session: Session, command: string): Promise<void> {
    await this.terminal.run?.({ session: session.id, command, arguments: "" } as never)
  }

  /** The plugin's summary for a compaction. Undefined if OpenCode must ask its model. */
  async compaction(session: Session, messages: Message[]): Promise<string | undefined> {
    const { event, raw } = await this.request("compaction", session, messages)
    if (event.messages.some((entry, i) => entry !== raw.entries[i])) this.world.find("compaction", "the messages to summarise were changed")
    return event.result?.summary
  }

  key(message: string): string {
    return this.keys.get(message) ?? ""
  }

  async moved(_: Session): Promise<void> {}
}

const ownerIn = (raw: Raw) => (entry: Entry): string => raw.owners.get(entry)!.info.id

export const refOf = ({ provider, id }: Model): { providerID: string; id: string } => ({ providerID: provider, id })
