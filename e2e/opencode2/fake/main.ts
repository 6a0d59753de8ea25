/**
 * A fake of OpenCode 2 for machines on which OpenCode 2 cannot be installed. It follows the source of release 2.0.26:
 * it loads the bundled plugin, calls its hooks, and sends requests to Anthropic's API. Its HTTP interface has the calls
 * that package opencode2 uses.
 *
 *     bun e2e/opencode2/fake/main.ts --port 4567
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { createServer } from "node:http"
import { basename, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { newID, Store, type Row, type Session } from "./store.ts"
import { ask, bodyOf, entriesOf, Refusal, sinceCompaction } from "./wire.ts"

const port = Number(process.argv[process.argv.indexOf("--port") + 1])
const config = JSON.parse(readFileSync(join(process.env.XDG_CONFIG_HOME!, "opencode", "opencode.json"), "utf8"))
const { models, settings } = config.providers.mock
const store = new Store(join(process.env.XDG_DATA_HOME!, "opencode", "opencode.db"))

/** The pause before a failed request is sent again, in ms. The real OpenCode waits at least 2 s. */
const retryMS = 20

type Hook = (event: any) => Promise<void>
interface Tool {
  name: string
  description: string
  input: unknown
  execute(input: any, context: object): Promise<{ content: object[] }>
}

class Place {
  readonly hooks = new Map<string, Hook[]>()
  readonly tools = new Map<string, Tool>()
  readonly directory: string
  readonly ready: Promise<void>

  constructor(directory: string) {
    this.directory = directory
    for (const tool of builtins) this.tools.set(tool.name, tool)
    this.ready = this.load()
  }

  private async load(): Promise<void> {
    for (const path of config.plugins as string[]) {
      const module = await import(statSync(path).isDirectory() ? join(path, "index.js") : path)
      await module.default.setup(this.context()).catch((err: Error) => console.error(`failed to load plugin ${path}: ${err.message}`))
    }
  }

  async call(name: string, event: any): Promise<void> {
    await this.ready
    for (const hook of this.hooks.get(name) ?? []) await hook(event)
  }

  private context(): object {
    const stored = new Map<string, unknown>()
    return {
      app: { name: "opencode", version: "2.0.26" },
      location: { directory: this.directory },
      options: {},
      session: {
        hook: async (name: string, hook: Hook) => {
          this.hooks.set(name, [...(this.hooks.get(name) ?? []), hook])
          return { dispose: async () => {} }
        },
        get: async ({ sessionID }: any) => infoOf(of(sessionID)),
        context: async ({ sessionID }: any) => sinceCompaction(store.rows(sessionID)),
        create: async ({ permissions, ...input }: any) => infoOf(create({ ...input, isDenied: permissions?.some(({ action, effect }: any) => action === "*" && effect === "deny") })),
        prompt: async ({ sessionID, ...prompt }: any) => void runs.of(sessionID).prompt(prompt),
        interrupt: async ({ sessionID }: any) => runs.of(sessionID).interrupt(),
        wait: async ({ sessionID }: any) => runs.of(sessionID).idle,
        remove: async ({ sessionID }: any) => {
          store.remove(sessionID)
          emit(this.directory, "session.deleted", { sessionID })
        },
      },
      tool: {
        transform: async (edit: (editor: object) => void) => {
          const added: string[] = []
          edit({ add: (tool: Tool) => void (added.push(tool.name), this.tools.set(tool.name, tool)) })
          return { dispose: async () => added.forEach((name) => this.tools.delete(name)) }
        },
      },
      event: { subscribe: (options?: { signal?: AbortSignal }) => subscribe(options?.signal) },
      storage: {
        set: async (key: string, value: unknown) => void stored.set(key, value),
        remove: async (key: string) => void stored.delete(key),
        scan: async ({ prefix }: any) => ({ entries: [...stored].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })) }),
      },
      model: { list: async () => ({ data: Object.entries<any>(models).map(([id, { limit, cost }]) => ({ id, providerID: "mock", package: "@ai-sdk/anthropic", limit, cost: [cost] })) }) },
    }
  }
}

const readers = new Set<(event: object) => void>()

function emit(directory: string, type: string, data: object): void {
  for (const read of readers) read({ type, created: Date.now(), location: { directory }, data })
}

async function* subscribe(signal?: AbortSignal): AsyncGenerator<object> {
  const waiting: object[] = []
  let wake = () => {}
  const read = (event: object) => (waiting.push(event), wake())
  readers.add(read)
  signal?.addEventListener("abort", () => wake())
  try {
    while (!signal?.aborted) {
      const event = waiting.shift()
      if (event) yield event
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    readers.delete(read)
  }
}

function of(id: string): Session {
  const session = store.session(id)
  if (!session) throw new Error(`no session ${id}`)
  return session
}

function create({ title = "", model, location, parentID, isDenied = false }: any): Session {
  const session: Session = { id: newID("ses"), directory: location.directory, title, agent: "build", model: model ?? { providerID: "mock", id: config.model.split("/")[1] }, isDenied, ...(parentID && { parentID }) }
  store.keep(session)
  emit(session.directory, "session.created", { sessionID: session.id, title })
  return session
}

const infoOf = ({ id, directory, title, parentID }: Session) => ({ id, title, location: { directory }, ...(parentID && { parentID }) })

const places = new Map<string, Place>()
const placeOf = (directory: string): Place => {
  const place = places.get(directory) ?? new Place(directory)
  places.set(directory, place)
  return place
}

class Stop extends Error {}

class Run {
  private readonly id: string
  /** The prompts that are not in the transcript yet. */
  private readonly inbox: any[] = []
  private stop = new AbortController()
  private isRunning = false
  idle: Promise<void> = Promise.resolve()
  /**
   * `baseline` is the text of the directory's instructions in the system prompt. It stays the same until the next
   * compaction. `instructions` is the newest text that the model has received. If the directory's instructions change,
   * the fake sends their new text as a message.
   */
  private baseline: string | undefined
  private instructions = ""

  constructor(id: string) {
    this.id = id
  }

  private emit(type: string, data: object = {}): void {
    emit(of(this.id).directory, type, { sessionID: this.id, ...data })
  }

  prompt(prompt: any): void {
    const session = of(this.id)
    if (session.revert) {
      store.cut(this.id, session.revert)
      delete session.revert
      store.keep(session)
      this.emit("session.revert.committed")
    }
    this.inbox.push({ id: newID("msg"), ...prompt })
    this.wake()
  }

  private wake(): void {
    if (this.isRunning) return
    this.isRunning = true
    this.stop = new AbortController()
    this.idle = this.drive().finally(() => (this.isRunning = false))
  }

  interrupt(): void {
    this.stop.abort()
  }

  private async drive(): Promise<void> {
    this.emit("session.execution.started")
    try {
      while (this.inbox.length > 0) {
        this.deliver(this.inbox.shift())
        while (await this.step()) {}
      }
      this.emit("session.execution.succeeded")
    } catch (err) {
      if (this.stop.signal.aborted) this.emit("session.execution.interrupted")
      else this.emit("session.execution.failed", { error: errorOf(err) })
    }
  }

  private deliver({ id, text, files = [], delivery: _, ...more }: any): void {
    store.put(this.id, { id, type: "user", time: { created: Date.now() }, text, files: files.map(fileOf), ...more })
    this.emit("session.inbox.delivered", { inputID: id })
  }

  /** Returns whether another request follows. */
  private async step(): Promise<boolean> {
    const steers = this.inbox.filter(({ delivery }) => delivery === "steer")
    for (const prompt of steers) {
      this.inbox.splice(this.inbox.indexOf(prompt), 1)
      this.deliver(prompt)
    }
    const { signal } = this.stop
    const answer: Row = { id: newID("msg"), type: "assistant", time: { created: Date.now() }, agent: of(this.id).agent, model: of(this.id).model, content: [] }
    for (let attempt = 1; ; attempt++) {
      try {
        await Promise.race([this.request(answer, signal), aborted(signal)])
        break
      } catch (err) {
        if (err instanceof Refusal && err.status >= 500 && attempt < 10) {
          this.emit("session.retry.scheduled", { assistantMessageID: answer.id, error: errorOf(err) })
          await new Promise((resolve) => setTimeout(resolve, retryMS))
          continue
        }
        Object.assign(answer, { finish: "error", error: signal.aborted ? { type: "aborted", message: "Step interrupted" } : errorOf(err) })
        store.put(this.id, answer)
        this.emit("session.step.failed", { assistantMessageID: answer.id, error: answer.error })
        throw err
      }
    }
    answer.time.completed = Date.now()
    store.put(this.id, answer)
    const { id: assistantMessageID, finish, tokens, model } = answer
    for (const { type, text } of answer.content) if (type === "text") this.emit("session.text.ended", { assistantMessageID, text })
    this.emit("session.step.ended", { assistantMessageID, finish, tokens, model })
    const calls = answer.content.filter(({ type }: any) => type === "tool")
    await Promise.race([Promise.all(calls.map((call: any) => this.execute(answer, call))), aborted(signal)]).catch((err) => {
      for (const { state } of calls) if (state.status === "running") Object.assign(state, { status: "error", error: { type: "aborted", message: "Tool execution interrupted" } })
      store.put(this.id, answer)
      throw err
    })
    store.put(this.id, answer)
    return calls.length > 0 || this.inbox.some(({ delivery }) => delivery === "steer")
  }

  private event(): any {
    const session = of(this.id)
    const tools = session.isDenied ? {} : Object.fromEntries([...placeOf(session.directory).tools.values()].map(({ name, description, input }) => [name, { description, input }]))
    const { limit } = models[session.model.id]
    return {
      sessionID: this.id, agent: session.agent, model: session.model, tools, options: { maxTokens: limit.output },
      system: [{ type: "text", text: "You are OpenCode." }, { type: "text", text: `<env>\n  Working directory: ${session.directory}\n</env>\n${this.baseline ?? ""}` }],
      messages: entriesOf(store.rows(this.id), session.model),
    }
  }

  private async request(answer: Row, signal: AbortSignal): Promise<void> {
    const session = of(this.id)
    const place = placeOf(session.directory)
    await place.ready
    this.readInstructions(session.directory)
    const event = this.event()
    await place.call("context", event)
    if (signal.aborted) throw new Stop()
    const known = new Set(place.tools.keys())
    event.tools = Object.fromEntries(Object.entries(event.tools).filter(([name]) => known.has(name)))
    this.emit("session.step.started", { assistantMessageID: answer.id, agent: session.agent, model: session.model })
    Object.assign(answer, { content: [] }, await this.answer(bodyOf(event, session.model.id), signal))
  }

  private readInstructions(directory: string): void {
    const path = join(directory, "AGENTS.md")
    const text = existsSync(path) ? readFileSync(path, "utf8") : ""
    if (this.baseline === undefined) this.baseline = text
    else if (text !== this.instructions) store.put(this.id, { id: newID("msg"), type: "system", time: { created: Date.now() }, text: `The instructions are now:\n${text}` })
    this.instructions = text
  }

  private async answer(body: object, signal?: AbortSignal): Promise<{ content: any[]; finish: string; tokens: object }> {
    const content: any[] = []
    let usage: any = {}
    let finish = ""
    for await (const { type, index, content_block: block, delta, message, usage: more, error } of ask(settings.baseURL, of(this.id), body, signal)) {
      if (type === "error") throw new Refusal(200, JSON.stringify(error))
      if (type === "message_start") usage = message.usage
      if (type === "content_block_start") {
        if (block.type === "tool_use") content[index] = { type: "tool", id: block.id, name: block.name, executed: false, state: { status: "streaming", input: "" } }
        else content[index] = block.type === "thinking" ? { type: "reasoning", text: "", state: { signature: "" } } : { type: "text", text: "" }
      }
      if (type === "content_block_delta") {
        const part = content[index]
        if (part.type === "tool") part.state.input += delta.partial_json
        else if (delta.signature !== undefined) part.state.signature += delta.signature
        else part.text += delta.text ?? delta.thinking
      }
      if (type === "message_delta") {
        finish = delta.stop_reason === "tool_use" ? "tool-calls" : "stop"
        usage = { ...usage, ...more }
      }
    }
    for (const { type, state } of content) if (type === "tool") Object.assign(state, { status: "running", input: JSON.parse(state.input || "{}") })
    const { input_tokens: input, output_tokens: output, cache_read_input_tokens: read, cache_creation_input_tokens: write } = usage
    return { content, finish, tokens: { input, output, reasoning: 0, cache: { read, write } } }
  }

  private async execute({ id: messageID }: Row, call: any): Promise<void> {
    const session = of(this.id)
    const tool = placeOf(session.directory).tools.get(call.name)
    const context = { sessionID: this.id, agent: session.agent, messageID, id: call.id, signal: this.stop.signal }
    try {
      if (!tool) throw Object.assign(new Error(`Unknown tool: ${call.name}`), { type: "tool.unknown" })
      const { content } = await tool.execute(call.state.input, context)
      call.state = { status: "completed", input: call.state.input, content }
    } catch (err) {
      call.state = { status: "error", input: call.state.input, content: [], error: errorOf(err) }
    }
  }

  /** Plays a compaction that the user has asked for. A plugin may write the summary. */
  async compact(): Promise<void> {
    const session = of(this.id)
    const row: Row = { id: newID("msg"), type: "compaction", time: { created: Date.now() }, status: "running", reason: "manual", recent: "" }
    const event = this.event()
    store.put(this.id, row)
    this.emit("session.compaction.started")
    await placeOf(session.directory).call("compaction", event)
    row.summary = event.result?.summary ?? (await this.summary(event))
    store.put(this.id, { ...row, status: "completed" })
    this.baseline = undefined // the system prompt shows the newest instructions
    this.emit("session.compaction.ended")
  }

  private async summary({ messages }: any): Promise<string> {
    const text = `Create a new anchored summary.\n\nThe following is the conversation history:\n\n${JSON.stringify(messages)}`
    const body = bodyOf({ system: [], tools: {}, options: {}, messages: [{ role: "user", content: [{ type: "text", text }] }] }, of(this.id).model.id)
    return (await this.answer(body)).content.map(({ text }) => text).join("")
  }

  during(work: Promise<void>): void {
    this.idle = work.catch((err: Error) => console.error(err.message))
  }
}

const all = new Map<string, Run>()
const runs = {
  of(id: string): Run {
    const run = all.get(id) ?? new Run(id)
    all.set(id, run)
    return run
  },
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Stop())
    signal.addEventListener("abort", () => reject(new Stop()), { once: true })
  })
}

function errorOf(err: unknown): object {
  if (err instanceof Refusal) return { type: err.status === 400 ? "provider.invalid-request" : "provider.error", message: err.message, status: err.status, response: { body: err.body } }
  return { type: (err as { type?: string }).type ?? "unknown", message: (err as Error).message }
}

function fileOf({ uri, name, mime }: any): object {
  if (uri.startsWith("data:")) return { data: uri.slice(uri.indexOf(",") + 1), mime, name, source: { type: "inline" } }
  return { data: readFileSync(fileURLToPath(uri)).toString("base64"), mime, name, source: { type: "uri", uri } }
}

const schema = (...names: string[]) => ({ type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])) })
const text = (text: string) => ({ content: [{ type: "text", text }] })

const builtins: Tool[] = [
  {
    name: "read", description: "Reads a file.", input: schema("path"),
    async execute({ path }, { sessionID }: any) {
      const file = resolve(of(sessionID).directory, path)
      if (!existsSync(file)) throw new Error(`Unable to read ${path}`)
      if (!file.endsWith(".png")) return text(readFileSync(file, "utf8"))
      const uri = `data:image/png;base64,${readFileSync(file).toString("base64")}`
      return { content: [{ type: "text", text: "Image read successfully" }, { type: "file", uri, mime: "image/png", name: basename(file) }] }
    },
  },
  {
    name: "shell", description: "Runs a command.", input: schema("command"),
    async execute({ command }, { sessionID }: any) {
      const { output, exit } = shell(command, of(sessionID).directory)
      return { content: [{ type: "text", text: output }, { type: "text", text: `Command exited with code ${exit}.` }] }
    },
  },
  {
    name: "subagent", description: "Asks another agent.", input: schema("description", "prompt", "agent"),
    async execute({ description, prompt }, { sessionID }: any) {
      const { directory, model } = of(sessionID)
      const child = create({ title: description, location: { directory }, model, parentID: sessionID })
      const run = runs.of(child.id)
      run.prompt({ text: prompt })
      await run.idle
      return text(store.rows(child.id).at(-1)!.content.map(({ text }: any) => text).join(""))
    },
  },
]

function shell(command: string, directory: string): { output: string; exit: number } {
  const { stdout, status } = spawnSync("sh", ["-c", command], { cwd: directory, encoding: "utf8" })
  return { output: stdout, exit: status ?? 1 }
}

const actions: Record<string, (session: Session, input: any) => unknown> = {
  prompt: ({ id }, { text, files, delivery }) => runs.of(id).prompt({ text, ...(files && { files }), ...(delivery && { delivery }) }),
  wait: ({ id }) => settled(id),
  interrupt: ({ id }) => runs.of(id).interrupt(),
  compact: ({ id }) => runs.of(id).during(runs.of(id).compact()),
  "revert/stage": (session, { messageID }) => {
    store.keep({ ...session, revert: messageID })
    emit(session.directory, "session.revert.staged", { sessionID: session.id })
  },
  fork: (session, { messageID }) => {
    const copy = create({ title: `${session.title} (fork #1)`, location: session, model: session.model })
    const rows = store.rows(session.id)
    const end = messageID ? rows.findIndex(({ id }) => id === messageID) : rows.length
    for (const row of rows.slice(0, end)) store.put(copy.id, { ...row, id: newID("msg") })
    emit(copy.directory, "session.forked", { sessionID: copy.id, parentID: session.id })
    return infoOf(copy)
  },
  model: (session, { model }) => {
    store.put(session.id, { id: newID("msg"), type: "model-switched", time: { created: Date.now() }, model, previous: session.model })
    store.keep({ ...session, model })
  },
  shell: ({ id, directory }, { command }) => {
    const { output, exit } = shell(command, directory)
    store.put(id, { id: newID("msg"), type: "shell", time: { created: Date.now() }, command, status: "exited", exit, output: { output } })
  },
  synthetic: ({ id }, { text }) => store.put(id, { id: newID("msg"), type: "synthetic", time: { created: Date.now() }, text }),
}

/**
 * Waits until the session is idle. When a turn ends, the next one may begin at once, so settled checks again after the
 * wait.
 */
async function settled(id: string): Promise<void> {
  const { idle } = runs.of(id)
  await idle
  if (runs.of(id).idle !== idle) await settled(id)
}

async function serve(method: string, url: URL, input: any): Promise<unknown> {
  const [, , , id, ...action] = url.pathname.split("/")
  if (url.pathname === "/api/health") return { healthy: true }
  if (url.pathname === "/api/session") {
    await placeOf(input.location.directory).ready
    return infoOf(create(input))
  }
  if (method === "GET" && action[0] === "message") {
    const rows = store.rows(id!)
    return (url.searchParams.get("order") === "desc" ? rows.reverse() : rows).slice(0, Number(url.searchParams.get("limit")))
  }
  return actions[action.join("/")]!(of(id!), input)
}

const server = createServer(async (req, res) => {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  try {
    const body = Buffer.concat(chunks).toString()
    const data = await serve(req.method!, new URL(req.url!, "http://localhost"), body ? JSON.parse(body) : {})
    res.end(JSON.stringify({ data: data ?? {} }))
  } catch (err) {
    res.statusCode = 500
    res.end(String(err))
  }
})
server.listen(port, "127.0.0.1")
process.on("SIGTERM", () => process.exit(0))
