import type { Context, Message as PiMessage, Model as PiModel, ToolDefinition } from "../../adapters/pi-shim/src/pi.ts"
import type { Hooks } from "../../adapters/opencode-shim/src/v1/opencode.ts"
import type { Message, OpenCodeEvent, Part, Row, Session } from "./opencode.ts"
import { signatureOf, type Model } from "./provider.ts"

/**
 * Plays Pi 0.87. The world and the judge use only messages of OpenCode, so this file translates these messages to Pi's
 * and back. Each Pi message has a member `origin` with the id of OpenCode's message. The extension must keep this
 * member, but must not send it.
 */

/** Pi calls the extension for each session. */
export type Extension = (pi: object) => void

type Handler = (event: object, ctx: Context) => unknown
type Block = Record<string, unknown> & { type: string; text?: string; origin?: string }
type Step = PiMessage & Record<string, unknown> & { origin?: string; content?: Block[] }

const apis = { anthropic: "anthropic-messages", openai: "openai-responses", compatible: "openai-completions" } as const

/**
 * Plays the program Pi, which has only one session open at a time. The world uses it in place of Plugin, so it has the
 * same methods.
 */
export class PiPlugin {
  private extension: Extension | undefined
  private handlers = new Map<string, Handler[]>()
  private tools: ToolDefinition[] = []
  private commands = new Map<string, { handler(args: string, ctx: Context): Promise<void> }>()
  private open: Session | undefined
  private isRunning = false
  private ends: Promise<void> = Promise.resolve()
  private readonly keys = new Map<string, string>()
  private readonly sessions: Map<string, Session>
  private readonly windows: ReadonlyMap<Model, number>
  private readonly directory: string
  private readonly systemPrompt: () => string

  constructor(directory: string, sessions: Map<string, Session>, windows: ReadonlyMap<Model, number>, systemPrompt: () => string) {
    this.directory = directory
    this.sessions = sessions
    this.windows = windows
    this.systemPrompt = systemPrompt
  }

  async load(extension: unknown): Promise<void> {
    this.extension = extension as Extension
  }

  async dispose(): Promise<void> {
    if (this.open) await this.emit("session_shutdown", { reason: "reload" })
    this.open = undefined
  }

  key(message: string): string {
    return this.keys.get(message) ?? ""
  }

  /** Opens a session. Pi calls the extension again for each session. */
  private async enter(id: string): Promise<void> {
    if (this.open?.id === id) return
    if (this.open) await this.emit("session_shutdown", { reason: "resume" })
    this.open = this.sessions.get(id)
    this.handlers = new Map()
    this.tools = []
    this.commands = new Map()
    this.extension!({
      on: (event: string, handler: Handler) => void this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler]),
      registerTool: (tool: ToolDefinition) => void this.tools.push(tool),
      registerCommand: (name: string, command: never) => void this.commands.set(name, command),
      sendMessage: () => {},
    })
    await this.emit("session_start", { reason: "resume" })
  }

  private async emit(type: string, event: object = {}): Promise<unknown> {
    let result: unknown
    for (const handler of this.handlers.get(type) ?? []) result = await handler({ type, ...event }, this.context())
    return result
  }

  private model(model: Model): PiModel {
    const { cost } = model
    return {
      id: model.id, provider: model.provider, api: model.provider === "amazon-bedrock" ? "bedrock-converse-stream" : apis[model.family],
      contextWindow: this.windows.get(model)!, maxTokens: 2000, cost: { input: cost.input, output: cost.output, cacheRead: cost.cache.read, cacheWrite: cost.cache.write },
    }
  }

  private context(): Context {
    const session = this.open!
    return {
      ui: { notify: () => {}, setStatus: () => {}, setWidget: () => {}, select: async () => undefined, confirm: async () => false, editor: async () => undefined, custom: async () => {} },
      hasUI: true,
      cwd: this.directory,
      sessionManager: {
        getSessionId: () => session.id, getSessionFile: () => undefined, getHeader: () => (session.original ? { parentSession: `/sessions/2026-01-01_${session.original}.jsonl` } : {}), buildSessionProjection: () => ({}),
        getBranch: () => this.toPi(session.rows.map((row) => row.message)).map((message, i) => ({ type: "message", id: String(i), message })),
      },
      modelRegistry: {
        find: (provider, id) => {
          const found = [...this.windows.keys()].find((model) => model.provider === provider && model.id === id)
          return found && this.model(found)
        },
      },
      model: this.model(session.model),
      signal: undefined,
      getSystemPrompt: this.systemPrompt,
      isIdle: () => !this.isRunning,
    }
  }

  /**
   * The world knows only OpenCode's hooks, and calls them. Each hook here raises the events that Pi would raise at the
   * same point.
   */
  get has(): Hooks {
    const hooks = {
      "chat.message": async ({ sessionID }: { sessionID: string }) => {
        await this.enter(sessionID)
        this.isRunning = true
        await this.emit("before_agent_start", { systemPrompt: this.systemPrompt(), systemPromptOptions: {} })
      },
      "experimental.chat.messages.transform": async (_: unknown, { messages }: { messages: Message[] }) => {
        await this.enter(messages[0]!.info.sessionID)
        const result = (await this.emit("context", { messages: this.toPi(messages) })) as { messages: Step[] } | undefined
        if (result) messages.splice(0, messages.length, ...fromPi(result.messages, messages))
      },
      "experimental.chat.system.transform": async (_: unknown, { system }: { system: string[] }) => {
        const result = (await this.emit("context_with_system", { messages: [{ role: "system", content: system.join("\n") }] })) as { messages: { content: string }[] } | undefined
        if (result) system.splice(0, system.length, result.messages[0]!.content)
      },
      "command.execute.before": async ({ command, sessionID }: { command: string; sessionID: string }) => {
        await this.enter(sessionID)
        await this.commands.get(command)?.handler("", this.context())
      },
      tool: Object.fromEntries(
        this.tools.map(({ name, execute }) => [
          name,
          { execute: async (args: unknown, { callID }: { callID: string }) => ({ output: (await execute(callID, args, undefined, undefined, this.context())).content[0]!.text }) },
        ]),
      ),
    }
    return hooks as unknown as Hooks
  }

  tell(type: OpenCodeEvent["type"]): void {
    if (type === "session.compacted") void this.emit("session_compact", { fromExtension: false })
    if (type !== "session.idle" || !this.open) return
    this.isRunning = false
    void this.emit("agent_end")
    void this.emit("agent_settled")
  }

  /** The end of an answer. Before Pi stores the answer, the extension may change its texts. */
  updated(row: Row): void {
    const { info, parts } = row.message
    if (info.role !== "assistant" || info.time.completed === undefined || this.open?.id !== info.sessionID) return
    const [message] = this.toPi([row.message])
    this.ends = this.ends.then(async () => {
      if (!info.error) await this.emit("after_provider_response", { status: 200, headers: {} })
      const result = (await this.emit("message_end", { message })) as { message: Step } | undefined
      for (const block of result?.message.content ?? []) {
        const part = parts.find(({ id, type }) => type === "text" && id === block.origin)
        if (part && block.type === "text" && block.text !== undefined) part.text = block.text
      }
      row.changed()
    })
  }

  /** Waits until the extension has handled the ends of all answers. */
  async settled(): Promise<void> {
    await this.ends
  }

  /** The user moves to another message in the session's tree. */
  async moved(session: Session): Promise<void> {
    await this.enter(session.id)
    await this.emit("session_tree", { newLeafId: "new", oldLeafId: "old" })
  }

  private toPi(messages: readonly Message[]): Step[] {
    const all: Step[] = []
    const seen = new Map<string, number>()
    const add = (id: string, role: string, timestamp: number, more: object) => {
      const key = `${role}:${timestamp}`
      const count = (seen.get(key) ?? 0) + 1
      seen.set(key, count)
      this.keys.set(id, count === 1 ? key : `${key}#${count}`)
      all.push({ role, timestamp, origin: id, ...more })
    }
    let compacted: Message | undefined
    for (const message of messages) {
      const { info, parts } = message
      const { id, time: { created } } = info
      const bash = parts[0]?.bash as { command: string } | undefined
      if (parts[0]?.type === "compaction") compacted = message
      else if (compacted && info.summary === true) {
        add(id, "compactionSummary", created, { summary: parts.at(-1)!.text, tokensBefore: 1000 })
        compacted = undefined
      } else if (bash) {
        const { text, ignored } = parts[0]!
        add(id, "bashExecution", created, { command: bash.command, output: text, exitCode: 0, cancelled: false, truncated: false, ...(ignored && { excludeFromContext: true }) })
      } else if (info.role === "user") add(id, "user", created, { content: parts.flatMap((part) => block(part)) })
      else {
        const { input = 0, output = 0, cache = { read: 0, write: 0 } } = info.tokens ?? {}
        const stop = { stop: "stop", "tool-calls": "toolUse", length: "length" }[info.finish ?? ""] ?? "error"
        const model = [...this.windows.keys()].find((one) => one.provider === info.providerID && one.id === info.modelID)!
        add(id, "assistant", created, {
          content: parts.flatMap((part) => block(part)), api: this.model(model).api, provider: info.providerID, model: info.modelID,
          usage: { input, output, cacheRead: cache.read, cacheWrite: cache.write, totalTokens: input + output + cache.read + cache.write, cost: {} },
          stopReason: info.error ? "error" : stop, ...(info.error && { errorMessage: String(info.error.data.message) }),
        })
        for (const { type, callID, tool, state } of parts) {
          if (type !== "tool" || !state || state.status === "pending" || state.status === "running") continue
          const text = state.output ?? state.error ?? ""
          all.push({ role: "toolResult", toolCallId: callID, toolName: tool, content: [{ type: "text", text }], isError: state.status === "error", timestamp: state.time?.end ?? created })
        }
      }
    }
    return all
  }
}

function block(part: Part): Block[] {
  const { id: origin, type, text, ignored, callID, tool, state } = part
  if (type === "text") return ignored ? [] : [{ type, text: text!, origin }]
  if (type === "file") return [{ type: "image", data: part.url!.split("base64,")[1], mimeType: part.mime, origin }]
  if (type === "tool") return [{ type: "toolCall", id: callID, name: tool, arguments: state!.input, origin }]
  if (type !== "reasoning") return []
  const signature = signatureOf(part)
  return [{ type: "thinking", thinking: text || "[Reasoning redacted]", origin, ...(signature && { thinkingSignature: signature }), ...(!text && { redacted: true }) }]
}

const headIDs = ["magicctx-baseline", "magicctx-acknowledgement", "magicctx-delta"]

/** Translates a wire of Pi to messages of OpenCode, with the help of the raw messages. */
function fromPi(wire: readonly Step[], raw: readonly Message[]): Message[] {
  const originals = new Map(raw.map((message) => [message.info.id, message]))
  const results = new Map(wire.flatMap((step) => (step.role === "toolResult" ? [[step.toolCallId, step] as const] : [])))
  const all: Message[] = []
  let isHead = true
  for (const step of wire) {
    if (step.role === "toolResult") continue
    const original = originals.get(step.origin ?? "")
    if (!original) {
      const id = isHead ? (headIDs[all.length] ?? "unknown") : "unknown"
      const role = step.role === "assistant" ? "assistant" : "user"
      const parts = (step.content ?? []).map(({ text }, i) => ({ id: `${id}-${i}`, type: "text", text: text ?? "" }))
      all.push({ info: { ...raw[0]!.info, id, role }, parts })
      continue
    }
    isHead = false
    const at = raw.indexOf(original)
    if (step.role === "compactionSummary") {
      all.push(raw[at - 1]!, { ...original, parts: original.parts.map((part) => (part.type === "text" ? { ...part, text: String(step.summary) } : part)) })
      continue
    }
    if (step.role === "bashExecution") {
      all.push({ ...original, parts: [{ ...original.parts[0]!, text: String(step.output) }] })
      continue
    }
    const blocks = step.content ?? []
    const sources = original.parts.filter((part) => block(part).length > 0)
    const used = new Set<Part>()
    const parts: Part[] = original.parts.filter(({ type, ignored }) => ignored || type.startsWith("step-"))
    for (const [i, its] of blocks.entries()) {
      // A patch that replaces a whole block removes the block's origin. If the message still has as many blocks as
      // original parts, such a block belongs to the part at the same index.
      const source = sources.find(({ id }) => id === its.origin) ?? (blocks.length === sources.length && !used.has(sources[i]!) ? sources[i] : undefined)
      if (source) used.add(source)
      if (its.type === "text") parts.push({ ...(source ?? { id: `extra-${i}` }), type: "text", text: its.text! })
      else if (its.type === "toolCall") {
        const result = results.get(its.id)
        const text = result && (typeof result.content === "string" ? result.content : result.content!.map((b) => b.text ?? "").join("\n"))
        const state = { ...source!.state!, input: its.arguments }
        if (text !== undefined) state[state.output === undefined ? "error" : "output"] = text
        parts.push({ ...source!, state })
      } else parts.push(source ?? { id: `extra-${i}`, ...its })
    }
    all.push({ ...original, parts })
  }
  return all
}
