import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, type TestContext } from "node:test"
import type { InitializeResult } from "@magicctx/shim-core"
import { FakeHost, fakeHostPath, initialized, type Script } from "../../shim-core/test/fakehost.ts"
import magicctx from "../src/index.ts"
import { leaveHome } from "../src/home.ts"
import type { Component, Context, Message, Model, ToolDefinition, UI } from "../src/pi.ts"

// The extension stores files between its starts. Tests must not write them into the user's own directory.
process.env.XDG_STATE_HOME = mkdtempSync(join(tmpdir(), "magicctx-state-"))
after(() => rmSync(process.env.XDG_STATE_HOME!, { recursive: true, force: true }))

// A process has only one host, so all tests of a process use this fake.
export const fake = new FakeHost()
process.env.MAGICCTX_HOST = fakeHostPath()
after(async () => {
  await leaveHome() // the host's process would keep this process alive
  await fake.remove()
})

export const mockModel: Model = {
  id: "m",
  provider: "p",
  api: "anthropic-messages",
  contextWindow: 200_000,
  maxTokens: 8192,
  cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
}

type Handler = (event: object, ctx: Context) => unknown

/** A process of Pi with one open session. It calls the extension as Pi does. */
export class FakePi {
  readonly notices: string[] = []
  readonly statuses: Array<string | undefined> = []
  readonly banners: Array<string[] | undefined> = []
  /**
   * The component that an extension shows over the whole screen. `draws` counts how often the extension has asked to
   * draw it again.
   */
  view: Component | undefined
  draws = 0
  /** `dialogs` has all dialogs so far. `choices` has the user's answers to the next dialogs. */
  readonly dialogs: string[][] = []
  choices: string[] = []
  rows = 5
  tools: ToolDefinition[] = []
  commands = new Map<string, { description?: string; handler(args: string, ctx: Context): Promise<void> }>()
  session: string
  isIdle = true
  hasUI = true
  header: { parentSession?: string } = {}
  mode: string | undefined = "tui"
  model: Model | undefined = mockModel
  systemPrompt = "You code.\n\n<cwd>"
  branch: Array<Record<string, unknown> & { type: string; id: string }> = []
  /** Whether this Pi has the features of 0.87. */
  isNew = true
  readonly cwd: string
  private handlers = new Map<string, Handler[]>()
  private stale = { isStale: false }

  constructor(cwd: string, session: string) {
    this.cwd = cwd
    this.session = session
  }

  /** Calls the extension's factory. From now on, contexts from an earlier call throw errors, as they do in Pi. */
  load(): void {
    this.stale.isStale = true
    this.stale = { isStale: false }
    this.handlers = new Map()
    this.tools = []
    this.commands = new Map()
    magicctx({
      on: (event: string, handler: Handler) => void this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler]),
      registerTool: (tool: ToolDefinition) => void this.tools.push(tool),
      registerCommand: (name: string, command: never) => void this.commands.set(name, command),
    } as never)
  }

  context(): Context {
    const { stale } = this
    const pi = this
    const fresh = <T>(value: T): T => {
      if (stale.isStale) throw new Error("This extension ctx is stale")
      return value
    }
    const { session, cwd } = this
    return {
      get ui() {
        return fresh({
          notify: (text: string, kind = "info") => void pi.notices.push(`${kind}: ${text}`),
          setStatus: (_: string, text: string | undefined) => void pi.statuses.push(fresh(text)),
          setWidget: (_: string, lines: string[] | undefined) => void pi.banners.push(fresh(lines)),
          select: async (title: string, options: string[]) => {
            pi.dialogs.push([title, ...options])
            const begin = pi.choices.shift() ?? "none"
            return options.find((option) => option.startsWith(begin))
          },
          confirm: async (title: string, message: string) => (pi.dialogs.push([title, message]), pi.choices.shift() === "yes"),
          editor: async (title: string, prefill = "") => (pi.dialogs.push([title, prefill]), pi.choices.shift()),
          custom: (make: Parameters<UI["custom"]>[0]) =>
            new Promise((close) => {
              if (pi.mode === "tui") pi.view = make({ terminal: { rows: pi.rows }, requestRender: () => pi.draws++ }, {}, {}, close)
              else close(undefined)
            }),
        })
      },
      hasUI: this.hasUI,
      mode: this.mode,
      cwd,
      get sessionManager() {
        return fresh({
          getSessionId: () => session,
          getSessionFile: () => undefined,
          getHeader: () => pi.header,
          getBranch: () => pi.branch,
          ...(pi.isNew && { buildSessionProjection: () => ({}) }),
        })
      },
      modelRegistry: { find: (provider, id) => (provider === "p" && id === "m" ? mockModel : undefined) },
      get model() {
        return fresh(pi.model)
      },
      signal: undefined,
      getSystemPrompt: () => fresh(pi.systemPrompt),
      isIdle: () => fresh(pi.isIdle),
    }
  }

  /** Calls the handlers of an event, and returns the last result. */
  async emit(type: string, event: object = {}): Promise<any> {
    let result: unknown
    for (const handler of this.handlers.get(type) ?? []) result = await handler({ type, ...event }, this.context())
    return result
  }

  /** Starts a session in this process, after the end of the open one. */
  async start(reason = "startup", session = this.session): Promise<void> {
    this.session = session
    this.load()
    await this.emit("session_start", { reason })
  }

  async shutdown(reason = "quit"): Promise<void> {
    await this.emit("session_shutdown", { reason })
  }

  /** Makes a request: clones the messages as Pi does, calls the extension, and returns the messages to send. */
  async request(messages: Message[]): Promise<{ messages: Message[]; isTouched: boolean }> {
    const clones = structuredClone(messages)
    const result = (await this.emit("context", { messages: clones })) as { messages: Message[] } | undefined
    return { messages: result?.messages ?? clones, isTouched: result !== undefined }
  }

  /** Makes a request that the provider answers, and returns the messages that were sent. */
  async pass(messages: Message[]): Promise<Message[]> {
    const { messages: wire } = await this.request(messages)
    await this.emit("after_provider_response", { status: 200, headers: {} })
    return wire
  }
}

let count = 0

/** Loads the extension as a new process of Pi does. The fake host does what `script` says. */
export async function load(t: TestContext, answer: Partial<InitializeResult> = {}, script: Script = {}, change: (pi: FakePi) => void = () => {}) {
  fake.follow({ ...script, results: { ...script.results, initialize: { ...initialized, ...answer } } })
  const n = ++count
  const pi = new FakePi(`/project/${n}`, `session-${n}`)
  change(pi)
  await pi.start()
  t.after(() => pi.shutdown("new"))
  const received = (method: string) => fake.received(method).filter(({ params }) => params!.directory === pi.cwd || params!.session === pi.session)
  return { pi, received }
}

let clock = 1_700_000_000_000

export const user = (text: string, timestamp = clock++): Message => ({ role: "user", content: [{ type: "text", text }], timestamp })

export const call = (id: string, args: object = {}) => ({ type: "toolCall", id, name: "read", arguments: args })

export const assistant = (content: unknown[], more: object = {}, timestamp = clock++): Message => ({
  role: "assistant",
  content,
  timestamp,
  ...{ api: "anthropic-messages", provider: "p", model: "m", usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: {} }, stopReason: "toolUse" },
  ...more,
})

export const result = (id: string, text: string, timestamp = clock++): Message =>
  ({ role: "toolResult", toolCallId: id, toolName: "read", content: [{ type: "text", text }], isError: false, timestamp }) as Message

/** The first text of each message. */
export const textOf = (messages: readonly Message[]) =>
  messages.map(({ content }) => (typeof content === "string" ? content : ((content as Array<{ text?: string }> | undefined)?.find(({ text }) => text !== undefined)?.text ?? "")))
