import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, type TestContext } from "node:test"
import type { InitializeResult } from "@magicctx/shim-core"
import { FakeHost, fakeHostPath, initialized, type Script } from "../../../shim-core/test/fakehost.ts"
import plugin from "../../src/index.ts"
import type { CatalogueModel, Event, Part, PluginContext, SessionContext, StoredMessage, ToolRegistration } from "../../src/v2/opencode2.ts"

// The plugin stores files between its starts. Tests must not write them into the user's own directory.
process.env.XDG_STATE_HOME = mkdtempSync(join(tmpdir(), "magicctx-state-"))
after(() => rmSync(process.env.XDG_STATE_HOME!, { recursive: true, force: true }))

/** A message in a request. Like OpenCode, the fake creates new instances of this class for each request. */
export class Message {
  readonly role!: "system" | "user" | "assistant" | "tool"
  readonly content!: Part[]
  readonly id?: string

  constructor(members: object) {
    Object.assign(this, members)
  }
}

export class CacheHint {
  readonly type = "ephemeral"
}

/**
 * A message of a session. `stored` is the form in which OpenCode stores the message. `entries` are the one or more
 * messages that stand for it in the array of a request.
 */
export interface Kept {
  stored?: StoredMessage
  entries: object[]
}

/** A fake of OpenCode 2 with the members of release 2.0.26 that the plugin uses. A test can remove members. */
export class FakeOpenCode2 {
  readonly directory: string
  sessions = new Map<string, Kept[]>()
  parents: Record<string, string> = {}
  originals: Record<string, string> = {}
  models: CatalogueModel[] = []
  readonly tools = new Map<string, ToolRegistration>()
  readonly removed: string[] = []
  readonly lookups: string[] = []
  /** Answers the prompt of a hidden session. */
  answering: (id: string, text: string) => void = () => {}
  readonly stored = new Map<string, unknown>()
  readonly created: Array<Record<string, unknown>> = []
  private readonly hooks = new Map<string, Array<(event: never) => Promise<void>>>()
  private readonly readers = new Set<(event: Event | Error) => void>()
  readonly ctx: PluginContext

  constructor(directory: string) {
    this.directory = directory
    this.ctx = {
      app: { name: "opencode", version: "2.0.26" },
      location: { directory },
      session: {
        hook: async (name: string, callback: (event: never) => Promise<void>) => {
          this.hooks.set(name, [...(this.hooks.get(name) ?? []), callback])
          return { dispose: async () => {} }
        },
        get: async ({ sessionID: id }) => {
          const [parentID, original] = [this.parents[id], this.originals[id]]
          return { id, location: { directory }, ...(parentID && { parentID }), ...(original && { fork: { sessionID: original } }) }
        },
        context: async ({ sessionID }) => {
          this.lookups.push(sessionID)
          return (this.sessions.get(sessionID) ?? []).flatMap(({ stored }) => (stored ? [stored] : []))
        },
        create: async (input) => {
          this.created.push(input as Record<string, unknown>)
          return { id: `ses_hidden${this.created.length}` }
        },
        prompt: async ({ sessionID, text }) => this.answering(sessionID, text),
        interrupt: async ({ sessionID }) => this.emit("session.execution.interrupted", { sessionID }),
        wait: () => new Promise(() => {}),
        remove: async ({ sessionID }) => void this.removed.push(sessionID),
      },
      tool: {
        transform: async (edit) => {
          const added: string[] = []
          edit({ add: (tool) => void (added.push(tool.name), this.tools.set(tool.name, tool)) })
          return { dispose: async () => added.forEach((name) => this.tools.delete(name)) }
        },
      },
      event: { subscribe: (options) => this.stream(options?.signal) },
      storage: {
        set: async (key, value) => void this.stored.set(key, value),
        remove: async (key) => void this.stored.delete(key),
        scan: async ({ prefix }) => ({ entries: [...this.stored].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })) }),
      },
      model: { list: async () => ({ data: this.models }) },
    }
  }

  add(session: string, ...kept: Kept[]): void {
    this.sessions.set(session, [...(this.sessions.get(session) ?? []), ...kept])
  }

  /** Calls the hooks of the given name with a new request of the session, and returns the changed request. */
  async request(session: string, more: Partial<SessionContext> = {}, hook = "context"): Promise<SessionContext & { result?: unknown }> {
    const event: SessionContext = {
      sessionID: session,
      agent: "build",
      model: { providerID: "p", id: "m" },
      system: [{ type: "text", text: "You are." }, { type: "text", text: "Here." }],
      messages: (this.sessions.get(session) ?? []).flatMap(({ entries }) => entries.map((entry) => new Message(structuredClone(entry)) as never)),
      options: { maxTokens: 8_000 },
      tools: { read: {}, ctx_reduce: {} },
      ...more,
    }
    for (const run of this.hooks.get(hook) ?? []) await run(event as never)
    check(event)
    return event
  }

  emit(type: string, data: Event["data"], more: Partial<Event> = {}): void {
    for (const read of this.readers) read({ type, created: Date.now(), location: { directory: this.directory }, data, ...more })
  }

  /** Ends the streams of events, as OpenCode does if a reader is too slow. */
  cut(): void {
    for (const read of this.readers) read(new Error("the subscription was closed"))
  }

  get isRead(): boolean {
    return this.readers.size > 0
  }

  private async *stream(signal: AbortSignal | undefined): AsyncGenerator<Event> {
    const waiting: Array<Event | Error> = []
    let wake = () => {}
    const read = (event: Event | Error) => {
      waiting.push(event)
      wake()
    }
    signal?.addEventListener("abort", () => read(new Error("aborted")))
    this.readers.add(read)
    try {
      for (;;) {
        const event = waiting.shift()
        if (event instanceof Error) throw event
        if (event) yield event
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      this.readers.delete(read)
    }
  }
}

const partTypes = new Set(["text", "media", "reasoning", "tool-call", "tool-result", "compaction", "effort"])
const resultTypes = new Set(["json", "text", "error", "content"])

/** Checks a request after the hooks, as OpenCode does. If OpenCode's check fails, the turn ends without an answer. */
function check({ system, messages }: SessionContext): void {
  const broken = (what: string) => new Error(`Schema validation failed: ${what}`)
  for (const { type, text } of system) if (type !== "text" || typeof text !== "string") throw broken("system")
  const calls = new Set<string>()
  for (const message of messages) {
    if (!["system", "user", "assistant", "tool"].includes(message.role) || !Array.isArray(message.content)) throw broken("message")
    for (const part of message.content as Array<Part & { cache?: unknown }>) {
      if (!partTypes.has(part.type)) throw broken(`part ${part.type}`)
      if (part.cache !== undefined && !(part.cache instanceof CacheHint)) throw broken("Expected LLM.CacheHint")
      if (part.type === "text" && typeof part.text !== "string") throw broken("text")
      if (part.type === "tool-call") calls.add(part.id!)
      if (part.type === "tool-result" && (!resultTypes.has(part.result!.type) || !calls.delete(part.id!))) throw broken("result")
    }
  }
  if (calls.size > 0) throw new Error("the provider refuses a call without its result")
}

// All plugins in a process share one host, so all tests in a process use this fake.
export const fake = new FakeHost()
process.env.MAGICCTX_HOST = fakeHostPath()
after(() => fake.remove())

let directories = 0

/** Loads the plugin for a new directory, as OpenCode does. The fake host does what `script` says. */
export async function load(t: TestContext, answer: Partial<InitializeResult> = {}, script: Script = {}, trim: (ctx: PluginContext) => Partial<PluginContext> = (ctx) => ctx) {
  fake.follow({ ...script, results: { ...script.results, initialize: { ...initialized, hooks: ["session/event"], ...answer } } })
  const opencode = new FakeOpenCode2(`/project/${++directories}`)
  const dispose = await plugin.setup(trim(opencode.ctx))
  t.after(() => dispose?.())
  const received = (method: string) => fake.received(method).filter(({ params }) => params!.directory === opencode.directory)
  return { opencode, received, dispose }
}

let clock = 1_000

export const user = (id: string, text: string, more: object = {}): Kept => ({
  stored: { id, type: "user", time: { created: ++clock }, text },
  entries: [{ id, role: "user", content: [{ type: "text", text }], metadata: {}, ...more }],
})

/** A tool call of an answer. A call without an output gets no result. */
interface Call {
  id: string
  output?: string
}

export const answer = (id: string, text: string, calls: Call[] = [], more: Partial<StoredMessage> = {}): Kept => ({
  stored: {
    id, type: "assistant", time: { created: ++clock, completed: ++clock }, agent: "build", model: { providerID: "p", id: "m" },
    finish: calls.length > 0 ? "tool-calls" : "stop", tokens: { input: 100, output: 5, cache: { read: 20, write: 3 } }, ...more,
  },
  entries: [
    { id, role: "assistant", content: [...(text ? [{ type: "text", text }] : []), ...calls.map(({ id }) => ({ type: "tool-call", id, name: "read", input: { path: id } }))] },
    ...calls.flatMap(({ id, output }) => (output === undefined ? [] : [{ role: "tool", content: [{ type: "tool-result", id, name: "read", result: { type: "text", value: output } }] }])),
  ],
})

/**
 * A message that is not a prompt, for example a synthetic one. OpenCode stores it with a type of its own, but sends it
 * in the user's role.
 */
export const other = (id: string, type: string, text: string): Kept => ({
  stored: { id, type, time: { created: ++clock } },
  entries: [{ id, role: "user", content: [{ type: "text", text }] }],
})

/** A changed instruction. Its message has no id. */
export const update = (text: string): Kept => ({ entries: [{ role: "system", content: [{ type: "text", text }] }] })

export const textOf = ({ messages }: SessionContext) => messages.map(({ content }) => content[0]?.text ?? content[0]?.result?.value ?? content[0]?.id)
