import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Author, type Kind } from "./author.ts"
import { disturb, troubles } from "./disturb.ts"
import { Judge, type Bound, type Verdict } from "./judge.ts"
import { Machine, Tail } from "./machine.ts"
import { fork, Ids, noTokens, Plugin, Row, Session, userMessage, type Info, type Message, type Part } from "./opencode.ts"
import { manners, summarise, type Manner, type Summary } from "./historian.ts"
import { PiPlugin } from "./pi.ts"
import { bindings, models, refusal, tokensOf, type Block, type Model } from "./provider.ts"
import { prose, Random, sectioned } from "./random.ts"
import { excerpt, mayStore } from "./rules.ts"
import { Caches, floor } from "./usage.ts"

/** What a shim exports: OpenCode's server function, or Pi's extension. */
export type Server = unknown
export type Harness = "opencode" | "pi"

export interface Finding {
  seed: number
  pass: number
  session: string
  rule: string
  detail: string
}

/** The weights of random events between two turns. */
const betweens = {
  nothing: 70, late: 3, foreign: 2, compact: 1.5, unsavedTag: 1, revert: 7, fork: 4, switchModel: 5, idle: 7, flush: 4, plan: 6, instructions: 1.5, prune: 1.5, reload: 1, loseDatabase: 0.5, other: 3,
}
/** In Pi nothing is pruned, no message changes, and the user goes to and fro in the tree of the session. */
const piBetweens = { ...betweens, plan: 0, prune: 0, late: 0, foreign: 0, revert: 0, unsavedTag: 0, tree: 12, command: 6 }
/** The weights of the model's kinds of answer. */
const answers = { calls: 74, text: 18, aborted: 4, failed: 3, empty: 1 }

const minute = 60_000

/** Whether the turn goes on after a request. */
type Outcome = "go on" | "done"

/** One random session with all its events, including its forks. */
export class World {
  readonly findings: Finding[] = []
  readonly counts: Record<string, number> = {}
  passes = 0
  private readonly seed: number
  private readonly machine: Machine
  private readonly ids: Ids
  private readonly plugin: Plugin | PiPlugin
  private readonly isPi: boolean
  private readonly sessions = new Map<string, Session>()
  private readonly judges = new Map<string, Judge>()
  private readonly author = new Author(() => [...this.judge.shown()])
  private readonly windows = new Map<Model, number>()
  private readonly bound = new Map<string, Bound>()
  private readonly scale: number
  private readonly server: Server
  private readonly shimLog: Tail
  private readonly say: (line: string) => void
  private readonly most: number
  private readonly dump: string
  /** Whether a pass soon misses its deadline, and then leaves without the host. */
  private readonly isHasty: boolean
  private session: Session
  private instructions = 0
  private calls = 0
  private turns = 0
  private refusals = 0
  /** Whether this turn follows the script by which a tag is lost; see unsavedTag. */
  private isUnsaved = false
  /** For how many more requests there is no host. */
  private outage = 0
  private readonly caches: Caches
  private readonly manner: Manner | "none" | "mixed"
  private summaries = 0
  private readonly prompts: Tail
  /** The beginnings of texts that the user withheld from the model, and of texts that the user did not type. */
  private readonly withheld: string[] = []
  private readonly attached: string[] = []

  constructor(harness: Harness, seed: number, root: string, host: string, server: Server, shimLog: Tail, say: (line: string) => void, dump = "") {
    this.isPi = harness === "pi"
    this.dump = dump
    this.seed = seed
    this.server = server
    this.shimLog = shimLog
    this.say = say
    const random = Random.of(seed, "world")
    const protectedTags = random.pick([20, 20, 20, 5, 1])
    this.manner = random.weighted({ none: 2, good: 4, garbage: 1, failing: 1, slow: 1, mixed: 2 })
    this.isHasty = random.chance(0.5)
    const deadlines = this.isHasty ? { transform_timeout_ms: 400, resync_timeout_ms: 600 } : {}
    this.machine = new Machine(root, host, `world-${seed}`, { protected_tags: protectedTags, historian: { disable: this.manner === "none" }, ...deadlines })
    this.ids = new Ids(Random.of(seed, "ids"), this.machine)
    this.scale = random.pick([0.9, 1, 1.15])
    this.caches = new Caches(this.machine, this.scale)
    const [low, high] = random.pick([[8_000, 19_000], [20_000, 40_000], [20_000, 40_000], [40_000, 64_000]])
    for (const model of models) this.windows.set(model, random.int(low!, high!))
    this.most = random.int(40, 140)
    this.plugin = this.isPi
      ? new PiPlugin(this.machine.project, this.sessions, this.windows, () => this.system())
      : new Plugin(this.machine.project, this.sessions, this.windows, this.ids, this.machine, (prompt) => this.summarise(prompt))
    // In Pi the historian is a process of its own; see piagent.ts.
    this.prompts = new Tail(join(this.machine.directory, "prompts"))
    Object.assign(process.env, { MAGICCTX_FUZZ_PROMPTS: join(this.machine.directory, "prompts"), MAGICCTX_FUZZ_MANNER: this.manner })
    this.session = this.open(new Session(this.ids.next("ses")))
    this.session.model = random.weighted({ anthropic: 7, other: 5 }) === "anthropic" ? models[0]! : random.pick(models)
    say(`world ${seed}: protected_tags ${protectedTags}, window ${this.windows.get(this.session.model)}, ${this.session.model.provider}/${this.session.model.id}, scale ${this.scale}, historian ${this.manner}, ${this.most} passes`)
  }

  /** Answers the historian. */
  private summarise(prompt: string): Summary {
    const random = Random.of(this.seed, "summary", ++this.summaries)
    this.reads(prompt)
    const manner = this.manner === "mixed" || this.manner === "none" ? random.pick(manners) : this.manner
    this.note(`historian ${manner}`)
    return summarise(manner, prompt, random)
  }

  /** Judges what the historian was told. */
  private reads(prompt: string): void {
    const leaked = this.withheld.find((text) => prompt.includes(text))
    if (leaked) this.find("withheld", `the historian reads a text that the user withheld: ${leaked}`)
    for (const line of prompt.split("\n")) {
      const said = /^\[[\d-]+\] U: /.test(line) && this.attached.find((text) => line.includes(text))
      if (said) this.find("voice", `the historian reads a text as the user's that the user has not typed: ${excerpt(line, 200)}`)
    }
  }

  async play(): Promise<void> {
    try {
      await this.plugin.load(this.server)
      this.plugin.tell("session.created", { sessionID: this.session.id, info: this.sessionInfo(this.session) })
      while (this.passes < this.most) {
        this.turns++
        const random = Random.of(this.seed, "turn", this.turns)
        if (this.turns > 1) await this.between(random)
        await this.turn(random)
      }
      await this.plugin.dispose()
    } finally {
      for (const error of this.machine.errors()) this.find("host-error", error.slice(0, 400))
      this.forgetShim()
      this.machine.remove()
    }
  }

  /**
   * Stops the shim's host at once. The shim would keep it for two seconds, in case the plugin is loaded again, but
   * the next world has another host.
   */
  private forgetShim(): void {
    const everywhere = globalThis as unknown as Record<symbol, { host: { stop(): void }; linger?: NodeJS.Timeout } | undefined>
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
      if (symbol.description === "magicctx.pi") delete everywhere[symbol]
      if (!symbol.description?.startsWith("magicctx.host/")) continue
      const shared = everywhere[symbol]
      clearTimeout(shared?.linger)
      shared?.host.stop()
      delete everywhere[symbol]
    }
  }

  private find(rule: string, detail: string): void {
    this.counts[`! ${rule}`] = (this.counts[`! ${rule}`] ?? 0) + 1
    const finding = { seed: this.seed, pass: this.passes, session: this.session.id, rule, detail }
    this.say(`  ! ${rule}: ${detail}`)
    if (this.findings.some((f) => f.rule === rule)) return
    this.findings.push(finding)
    if (this.dump) writeFileSync(join(this.dump, `${this.seed}-${this.passes}-${rule}.json`), JSON.stringify({ detail, ...this.judge.current }, null, 1))
  }

  private note(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
    this.say(`  ${what}`)
  }

  private open(session: Session): Session {
    const judge = new Judge(this.machine, session, this.bound, this.scale, (rule, detail) => this.find(rule, detail))
    judge.key = (message) => this.plugin.key(message)
    judge.leaves = this.isPi
    judge.window = (model) => this.windows.get(model)!
    this.sessions.set(session.id, session)
    this.judges.set(session.id, judge)
    return session
  }

  private get judge(): Judge {
    return this.judges.get(this.session.id)!
  }

  private sessionInfo(session: Session): object {
    const now = this.machine.now()
    return { id: session.id, slug: "swift-orchid", version: "1.18.33", projectID: "p", directory: this.machine.project, title: "a session", time: { created: now, updated: now } }
  }

  // Events between two turns.

  private async between(random: Random): Promise<void> {
    const what = random.weighted<keyof typeof piBetweens>(this.isPi ? piBetweens : { ...betweens, tree: 0, command: 0 })
    if (what !== "nothing") this.note(what)
    switch (what) {
      case "revert":
        return this.revert(random)
      case "late":
        return this.late(random)
      case "foreign":
        return this.foreign(random)
      case "compact":
        return this.compact(random)
      case "tree":
        return this.tree(random)
      case "command":
        return this.command(random)
      case "unsavedTag":
        return this.unsavedTag(random)
      case "fork":
        return this.fork(random)
      case "switchModel":
        this.session.model = random.chance(0.5) ? models[0]! : random.pick(models)
        return
      case "idle":
        return this.machine.move(random.pick([2, 4, 6, 7, 20, 70, 26 * 60]) * minute)
      case "flush":
        return this.flush()
      case "plan":
        this.session.agent = this.session.agent === "plan" ? "build" : "plan"
        return
      case "instructions":
        this.instructions++
        for (const judge of this.judges.values()) judge.happened.systemChanged = true
        return
      case "prune":
        return this.prune(random)
      case "reload":
        await this.plugin.dispose()
        await this.plugin.load(this.server)
        for (const judge of this.judges.values()) judge.happened.reloaded = true
        return
      case "loseDatabase":
        this.machine.loseDatabase()
        for (const judge of this.judges.values()) judge.databaseLost()
        return
      case "other":
        this.session = random.pick([...this.sessions.values()])
        this.refusals = 0
        return
    }
  }

  /** The text of an aborted answer is stored only now. */
  private late(random: Random): void {
    const aborted = this.session.rows.filter(({ message: { info } }) => info.error?.name === "MessageAbortedError")
    if (aborted.length === 0) return
    const row = random.pick(aborted)
    const { info, parts } = row.message
    parts.push({ id: this.ids.next("prt"), sessionID: info.sessionID, messageID: info.id, type: "text", text: prose(random, random.pick([50, 500, 2000])) })
    row.changed()
    this.plugin.updated(row)
  }

  /** Another plugin changes or adds a text in an old prompt. */
  private foreign(random: Random): void {
    const prompts = this.session.rows.filter(({ message: { info, parts } }) => info.role === "user" && parts[0]?.type === "text")
    if (prompts.length === 0) return
    const row = random.pick(prompts)
    const { info, parts } = row.message
    const text = prose(random, random.pick([50, 500]))
    this.attached.push(text.slice(0, 12))
    const its = parts.find((part) => part.synthetic)
    if (its) its.text = text
    else parts.push({ id: this.ids.next("prt"), sessionID: info.sessionID, messageID: info.id, type: "text", text, synthetic: true })
    row.changed()
    this.plugin.updated(row)
  }

  /** The user goes to an older message, which begins a branch, or to the other branch. */
  private async tree(random: Random): Promise<void> {
    const { session } = this
    const { rows, branch } = session
    const users = rows.flatMap((row, i) => (row.message.info.role === "user" && i > 0 ? [i] : []))
    if (branch && random.chance(0.6)) session.rows = branch
    else if (users.length > 0) session.rows = rows.slice(0, random.pick(users))
    else return
    session.branch = rows
    await (this.plugin as PiPlugin).moved(session)
  }

  /** The user runs a command, and shows its output to the model or withholds it. */
  private command(random: Random): void {
    const message = userMessage(this.session, this.ids, this.machine)
    const text = prose(random, random.pick([50, 1000, 6000]))
    const ignored = random.chance(0.5)
    ;(ignored ? this.withheld : this.attached).push(text.slice(0, 12))
    message.parts.push({ id: this.ids.next("prt"), sessionID: this.session.id, messageID: message.info.id, type: "text", text, synthetic: true, bash: { command: `make ${random.id(4)}` }, ...(ignored && { ignored }) })
    this.session.rows.push(new Row(message))
  }

  /** The user lets OpenCode compact, which keeps the newest turns or none. */
  private async compact(random: Random): Promise<void> {
    const { session } = this
    const visible = session.visible()
    if (visible.length < 6) return
    const { has } = this.plugin
    const prompts = visible.filter(({ message: { info, parts } }) => info.role === "user" && parts[0]?.type === "text")
    const kept = random.chance(0.5) ? prompts.at(-random.int(1, 3)) : undefined
    const request = new Row(userMessage(session, this.ids, this.machine))
    const { info, parts } = request.message
    parts.push({ id: this.ids.next("prt"), sessionID: session.id, messageID: info.id, type: "compaction", auto: false, ...(kept && { tail_start_id: kept.id }) })
    this.plugin.updated(request)
    if (this.isPi) await this.plugin.settled()
    const reads = visible.slice(0, kept ? visible.indexOf(kept) : undefined).map((row) => row.copy())
    await this.guarded("session.compacting", (has as { "experimental.session.compacting"?: (i: object, o: object) => Promise<void> })["experimental.session.compacting"]?.({ sessionID: session.id }, { context: [] }))
    if (!this.isPi) await this.guarded("messages.transform", has["experimental.chat.messages.transform"]!({}, { messages: reads }))
    session.rows.push(request)
    const summary = this.newAssistant()
    Object.assign(summary.message.info, { summary: true, mode: "compaction", agent: "compaction", finish: "stop", parentID: info.id })
    summary.message.info.time.completed = this.machine.now()
    summary.message.parts.push({ id: this.ids.next("prt"), sessionID: session.id, messageID: summary.id, type: "text", text: prose(random, random.pick([300, 1500])) })
    summary.changed()
    session.rows.push(summary)
    if (!this.isPi) this.plugin.updated(summary) // Pi reports no end of a message for a summary
    this.plugin.tell("session.compacted", { sessionID: session.id })
  }

  /** Takes back the newest turns. Their rows go with the next prompt, which has new ids. */
  private revert(random: Random): void {
    const { rows } = this.session
    const users = rows.flatMap((row, i) => (row.message.info.role === "user" ? [i] : []))
    if (users.length < 2) return
    // Mostly a few of the newest turns, sometimes any number of them.
    const back = random.chance(0.6) ? random.int(1, Math.min(3, users.length - 1)) : random.int(1, users.length - 1)
    for (const row of rows.splice(users.at(-back)!)) this.plugin.tell("message.removed", { sessionID: this.session.id, messageID: row.id })
  }

  /**
   * The host gives tags while nothing can be stored, the model names one of them, the host dies, and the user takes
   * the turn back.
   */
  private async unsavedTag(random: Random): Promise<void> {
    this.isUnsaved = true
    await this.turn(random)
    this.isUnsaved = false
    this.machine.kill(this.machine.processes().flatMap(({ pid, is }) => (is === "host" ? [pid] : [])))
    const last = this.session.rows.findLastIndex(({ message }) => message.info.role === "user")
    for (const row of this.session.rows.splice(last)) this.plugin.tell("message.removed", { sessionID: this.session.id, messageID: row.id })
  }

  private async fork(random: Random): Promise<void> {
    const original = this.session
    if (original.rows.length < 4) return
    const users = original.rows.flatMap((row, i) => (row.message.info.role === "user" ? [i] : [])).slice(1)
    const before = random.chance(0.6) || users.length === 0 ? original.rows.length : random.pick(users)
    const { copy, copied } = fork(original, before, this.ids)
    this.open(copy)
    copy.agent = original.agent
    this.judge.happened.lastUse ||= 0
    this.judges.get(copy.id)!.copyOf(this.judge, copied)
    this.judges.get(copy.id)!.happened.lastUse = this.judge.happened.lastUse
    this.plugin.tell("session.created", { sessionID: copy.id, info: { ...this.sessionInfo(copy), title: "a session (fork #1)" } })
    for (const row of copy.rows) this.plugin.updated(row)
    this.session = copy
    this.refusals = 0 // nobody has told the host of the copy that the original's newest prompt was refused (-seed 6021)
    // A real user forks only after the event of the original's last answer has reached the host. Without this pause the
    // fork could come first, because the host does not order the calls of two sessions (-seed 100211).
    await new Promise((resolve) => setTimeout(resolve, 50))
  }

  private async flush(): Promise<void> {
    try {
      await this.plugin.has["command.execute.before"]!({ command: "ctx-flush", sessionID: this.session.id, arguments: "" }, { parts: [] })
    } catch {
      // It always throws, because OpenCode has no other way to end a command.
    }
    this.judge.happened.flush = true // harmless if the flush did not arrive
  }

  /** Prunes old outputs, as OpenCode does if the user has switched pruning on: all of them, some, or the empty ones. */
  private prune(random: Random): void {
    const old = this.session.rows.slice(0, Math.floor(this.session.rows.length / 2))
    const which = random.weighted({ all: 4, some: 3, empty: 3 })
    for (const row of old) {
      for (const { state } of row.message.parts) {
        if (which === "some" && random.chance(0.7)) continue
        if (which === "empty" && state?.output !== "") continue
        if (state?.status === "completed" && !state.time!.compacted) {
          state.time!.compacted = this.machine.now()
          row.changed()
          this.judge.happened.pruned = true
        }
      }
    }
  }

  // A turn.

  private async turn(random: Random): Promise<void> {
    const { session } = this
    const message = userMessage(session, this.ids, this.machine)
    await this.plugin.has["chat.message"]?.({ sessionID: session.id }, { message: message.info, parts: message.parts })
    const part = (more: Partial<Part> & { type: string }) => message.parts.push({ id: this.ids.next("prt"), sessionID: session.id, messageID: message.info.id, ...more })
    const length = random.pick([40, 200, 200, 800, 3000])
    part({ type: "text", text: random.chance(0.4) ? sectioned(random, length, this.author.lead(random, 0.1)) : prose(random, length) })
    if (random.chance(0.06)) part({ type: "file", mime: "image/png", filename: "a.png", url: `data:image/png;base64,${random.id(400)}` })
    if (!this.isPi && random.chance(0.1)) {
      const file = prose(random, random.pick([300, 3000]))
      this.attached.push(file.slice(0, 12))
      part({ type: "text", text: file, synthetic: true })
    }
    if (!this.isPi && random.chance(0.05)) part({ type: "text", text: `<system-reminder>\n${prose(random, 200)}\n</system-reminder>`, synthetic: true })
    if (!this.isPi && random.chance(0.06)) {
      const secret = prose(random, 100)
      this.withheld.push(secret.slice(0, 12))
      part({ type: "text", text: secret, ignored: true })
    }
    session.rows.push(new Row(message))
    this.plugin.updated(session.rows.at(-1)!)
    this.plugin.tell("session.status", { sessionID: session.id, status: { type: "busy" } })
    session.reminds = session.agent === "plan"
    const steps = this.isUnsaved ? 2 : random.pick([1, 2, 4, 6, 9, 14])
    for (let step = 1; step <= steps + (this.isUnsaved ? -1 : 4); step++) {
      if ((await this.step(step >= steps)) === "done" && session.rows.at(-1)!.message.info.role === "assistant") break
      if (random.chance(0.01)) this.machine.move(random.int(1, 7) * minute) // a slow tool, or a permission that nobody grants yet
      else this.machine.move(random.int(1, 20) * 1000)
    }
    this.plugin.tell("session.status", { sessionID: session.id, status: { type: "idle" } })
    this.plugin.tell("session.idle", { sessionID: session.id })
  }

  /** One request of the model, and its answer. */
  private async step(isLast: boolean): Promise<Outcome> {
    this.passes++
    const random = Random.of(this.seed, "step", this.passes)
    const { session, judge } = this
    const { model } = session
    const started = this.machine.now()
    const row = this.newAssistant()
    const request = await this.request(random)
    const { verdict } = request
    const window = this.windows.get(model)!
    this.report(verdict, request.outcome)
    if (verdict.tokens > window) return this.refuse(row, verdict, request.isDisturbed)
    this.refusals = 0
    if (verdict.isGood) judge.happened.lastUse = this.machine.now() // the host need not know about other requests
    const usage = this.caches.use(model, verdict)
    const kind = isLast ? random.weighted({ text: 85, calls: 0, aborted: 6, failed: 6, empty: 3 }) : random.weighted(answers)
    if (kind === "failed") return this.fail(row, random)
    // An aborted answer reports no usage, so the host cannot know that its prompt was accepted (-seed 200017).
    if (kind !== "aborted") judge.happened.refused = false
    await this.answer(row, kind, random, verdict, usage, started)
    await this.plugin.settled()
    for (const prompt of this.prompts.lines()) this.reads(JSON.parse(prompt) as string)
    return kind === "calls" ? "go on" : "done"
  }

  private report({ tokens, passes, isGood, expected }: Verdict, outcome: string): void {
    const journal = passes.map((p) => `${p.pass} ${p.verdict} ${p.cause}${p.bust ? ` bust ${p.bustCause}` : ""} size ${p.size}`).join(", ")
    const last = passes.at(-1)
    if (last?.bust) this.counts[`bust ${last.bustCause}`] = (this.counts[`bust ${last.bustCause}`] ?? 0) + 1
    if (outcome !== "applied" || !isGood) this.counts[outcome === "applied" ? "busy" : outcome] = (this.counts[outcome === "applied" ? "busy" : outcome] ?? 0) + 1
    this.say(`pass ${this.passes} ${this.session.id.slice(4, 16)} ${outcome}: ${tokens} tokens, expected ${expected}, of ${this.windows.get(this.session.model)}; ${journal || "not in the journal"}`)
  }

  private newAssistant(): Row {
    const { session } = this
    const { provider, id } = session.model
    const info: Info = {
      id: this.ids.next("msg"), sessionID: session.id, role: "assistant", time: { created: this.machine.now() }, agent: session.agent, mode: session.agent,
      parentID: session.newestUser()!.id, providerID: provider, modelID: id, path: { cwd: this.machine.project, root: this.machine.project }, cost: 0, tokens: noTokens(),
    }
    const row = new Row({ info, parts: [] })
    this.plugin.updated(row)
    return row
  }

  /** Prepares a request as OpenCode does, while something may go wrong. */
  private async request(random: Random): Promise<{ verdict: Verdict; outcome: "applied" | "reapplied" | "unchanged"; isDisturbed: boolean }> {
    const { session } = this
    const messages = session.array(this.ids)
    const newest = session.newestUser()!
    const visible = session.visible()
    const raw = visible.map((row, i): Message => (session.reminds && row === newest ? structuredClone(messages[i]!) : row.message))
    const versions = visible.map((row) => `${row.version}${session.reminds && row === newest ? " and a reminder" : ""}`)
    if (this.outage > 0 && --this.outage === 0) this.machine.bringBack()
    const trouble = this.outage > 0 ? "none" : this.isUnsaved ? "lockWhole" : random.weighted(troubles)
    if (trouble !== "none") this.note(trouble)
    const disturbed = disturb(this.machine, trouble, random, this.isHasty)
    if (disturbed.outage > 0) this.outage = disturbed.outage
    const wire = messages
    await this.guarded("messages.transform", this.plugin.has["experimental.chat.messages.transform"]!({}, { messages: wire }))
    if (this.isUnsaved || random.chance(0.7)) disturbed.end() // otherwise it lasts through the system prompt
    const system = [this.system()]
    await this.guarded("system.transform", this.plugin.has["experimental.chat.system.transform"]!({ sessionID: session.id, model: { id: session.model.id, providerID: session.model.provider } }, { system }))
    disturbed.end()
    const outcome = this.outcome()
    const verdict = await this.judge.judge({ raw, versions, wire, system: system.join("\n"), isBare: system.join("\n") === this.system(), model: session.model, outcome })
    // If a pass could not be stored in time, for example on a busy machine, it drops nothing either.
    return { verdict, outcome, isDisturbed: trouble !== "none" || this.outage > 0 || !verdict.isGood }
  }

  private async guarded(hook: string, work: Promise<void> | undefined): Promise<void> {
    const began = Date.now()
    try {
      await work
    } catch (err) {
      this.find("hook-threw", `${hook}: ${String(err)}`)
    }
    const elapsed = Date.now() - began
    this.counts[`ms in ${hook}`] = (this.counts[`ms in ${hook}`] ?? 0) + elapsed
    if (elapsed > 8000) this.find("slow-hook", `${hook} took ${elapsed} ms`)
  }

  /** The outcome of the newest pass, read from the shim's log. */
  private outcome(): "applied" | "reapplied" | "unchanged" {
    // A plugin that was loaded without a host logs nothing.
    let outcome: "applied" | "reapplied" | "unchanged" = this.outage > 0 ? "unchanged" : "applied"
    for (const line of this.shimLog.lines()) {
      if (!line.includes('"msg":"pass failed"')) {
        if (line.includes('"msg":"hook failed"')) this.say(`  shim: ${line.slice(0, 300)}`)
        continue
      }
      const entry = JSON.parse(line) as { outcome: "reapplied" | "unchanged"; cause: string }
      outcome = entry.outcome
      this.say(`  shim: ${entry.outcome}, ${entry.cause}`)
    }
    return outcome
  }

  private system(): string {
    const date = new Date(this.machine.now()).toDateString()
    return (
      "You are OpenCode, the best coding agent on the planet.\n\n" + prose(Random.of("system"), 2000) +
      `\n<env>\n  Working directory: ${this.machine.project}\n  Today's date: ${date}\n</env>\nInstructions from: AGENTS.md, version ${this.instructions}\n`
    )
  }

  // The provider's side.

  private refuse(row: Row, verdict: Verdict, isDisturbed: boolean): Outcome {
    const { session, judge } = this
    const window = this.windows.get(session.model)!
    const error = refusal(session.model, verdict.tokens, window)
    this.note("refused")
    this.refusals = isDisturbed || judge.happened.reloaded ? 0 : this.refusals + 1
    if (this.refusals > 1) {
      const least = floor(session, verdict, this.scale)
      if (least < 0.8 * window) this.find("refused-again", `prompt ${this.refusals} in a row is refused: ${verdict.tokens} tokens in a window of ${window}, where ${least} could not have been dropped; ${JSON.stringify(verdict.passes.at(-1))}`)
    }
    judge.happened.refused = true
    row.message.info.error = error
    row.message.info.finish = "error"
    row.message.info.time.completed = this.machine.now()
    session.rows.push(row)
    this.plugin.updated(row)
    this.plugin.tell("session.error", { sessionID: session.id, error })
    // If the newest prompt alone is too long, no drop can help, so the user goes back.
    if (this.refusals >= 4) {
      this.refusals = 0
      this.revert(Random.of(this.seed, "give up", this.passes))
      // If the newest message is now a prompt of the user, the turn goes on with that prompt, and with the model that
      // it names (-seed 310125).
      const asked = session.newestUser()!.message.info.model
      session.model = models.find(({ provider, id }) => provider === asked?.providerID && id === asked.modelID)!
    }
    return "done"
  }

  private fail(row: Row, random: Random): Outcome {
    const message = random.pick(["overloaded_error", "bad key", "Internal server error", "rate limit: 30000 tokens per minute"])
    row.message.info.error = { name: "APIError", data: { message, statusCode: 500, isRetryable: false, responseBody: message } }
    row.message.info.time.completed = this.machine.now()
    this.session.rows.push(row)
    this.plugin.updated(row)
    this.plugin.tell("session.error", { sessionID: this.session.id, error: row.message.info.error })
    return "done"
  }

  /** The answer of the model, piece by piece, as OpenCode stores it. */
  private async answer(row: Row, kind: Kind, random: Random, verdict: Verdict, usage: { input: number; read: number; write: number }, started: number): Promise<void> {
    const { session } = this
    const { info, parts } = row.message
    info.time.created = started
    // The row is stored before the tools run, because they read the session with this answer.
    session.rows.push(row)
    const add = (more: Partial<Part> & { type: string }): Part => {
      const part: Part = { id: this.ids.next("prt"), sessionID: session.id, messageID: info.id, ...more }
      parts.push(part)
      row.changed()
      return part
    }
    const time = () => ({ start: this.machine.now(), end: this.machine.now() })
    add({ type: "step-start" })
    const said: Block[] = [] // as the model wrote it, because thinking is bound to that
    const shape = this.author.shape(kind, random)
    const running: Promise<void>[] = []
    // OpenCode runs a call while the model still writes, Pi runs all calls after the end of the answer.
    const waiting: (() => Promise<void>)[] = []
    for (const piece of shape) {
      if (piece === "thinking" || piece === "redacted") {
        const part = add({ type: "reasoning", time: time(), ...this.author.proof(random, session.model.proof, piece) })
        said.push(blockOf("thinking", { text: part.text!, signature: JSON.stringify(part.metadata) }))
      } else if (piece === "text") {
        const length = random.pick([20, 150, 400, 1500])
        const written = random.chance(0.5) ? sectioned(random, length, this.author.lead(random, 0.3)) : this.author.lead(random, 0.1) + prose(random, length)
        said.push(blockOf("text", { text: written }))
        const output = { text: written }
        const id = this.ids.next("prt")
        await this.guarded("text.complete", this.plugin.has["experimental.text.complete"]?.({ sessionID: session.id, messageID: info.id, partID: id } as { sessionID: string }, output))
        const given = this.judge.given()
        if (!mayStore(written, output.text, (tag) => tag > 0 && tag <= given)) this.find("text-complete", `the model wrote ${excerpt(written)} and ${excerpt(output.text)} is stored`)
        parts.push({ id, sessionID: session.id, messageID: info.id, type: "text", text: output.text, time: time() })
        row.changed()
      } else if (piece === "blank") {
        add({ type: "text", text: "", time: time() })
      } else {
        const { tool, input } = this.author.call(random, this.isUnsaved, this.plugin.has.tool?.ctx_reduce !== undefined)
        const part = add({ type: "tool", tool, callID: `${session.model.family === "openai" ? "call_" : "toolu_"}${random.id(20)}`, state: { status: "pending", input: {} } })
        said.push(blockOf("call", { id: part.callID!, name: tool, input: JSON.stringify(input) }))
        const itsRandom = Random.of(this.seed, "call", ++this.calls)
        const run = () => this.run(row, part, input, itsRandom, kind === "aborted")
        if (this.isPi) waiting.push(run)
        else running.push(run())
      }
    }
    if (kind !== "aborted" && random.chance(0.01)) this.machine.kill(this.machine.processes().map(({ pid }) => pid))
    await Promise.all(running)
    this.bind(said, verdict)
    this.end(row, kind, random, verdict, usage)
    await this.plugin.settled()
    await Promise.all(waiting.map((run) => run()))
  }

  /** Stores how an answer has ended, and tells the plugin. */
  private end(row: Row, kind: Kind, random: Random, verdict: Verdict, usage: { input: number; read: number; write: number }): void {
    const { session } = this
    const { info, parts } = row.message
    if (kind === "aborted") {
      info.error = { name: this.isPi ? "aborted" : "MessageAbortedError", data: { message: "Aborted" } }
      info.time.completed = this.machine.now()
      row.changed()
      this.plugin.updated(row)
      this.plugin.tell("session.error", { sessionID: session.id, error: info.error })
      return
    }
    const output = tokensOf(JSON.stringify(parts).length, this.scale)
    const finish = kind === "calls" ? "tool-calls" : random.chance(0.03) ? "length" : "stop"
    const tokens = { total: verdict.tokens + output, input: usage.input, output, reasoning: 0, cache: { read: usage.read, write: usage.write } }
    parts.push({ id: this.ids.next("prt"), sessionID: session.id, messageID: info.id, type: "step-finish", reason: finish, cost: 0.01, tokens })
    info.tokens = tokens
    info.finish = finish
    this.judge.happened.pruned = false
    row.changed()
    this.plugin.updated(row)
    info.time.completed = this.machine.now()
    row.changed()
    this.plugin.updated(row)
  }

  /** Records the binding of an answer's thinking. */
  private bind(said: Block[], { chain, rawChain, isGood }: Verdict): void {
    const { model } = this.session
    if (!model.binds || !model.proof) return
    const proofs = said.map((block) => {
      if (block.kind !== "thinking") return block
      const { signature, redactedData } = (JSON.parse(block.signature) as Record<string, Record<string, string>>)[model.proof!]!
      return { ...block, signature: signature ?? redactedData! }
    })
    const [bound, rawBound] = [bindings(chain, proofs), bindings(rawChain, proofs)]
    proofs.forEach((block, i) => block.kind === "thinking" && this.bound.set(block.signature, { digest: bound[i]!, chain, rawDigest: rawBound[i]!, isKnown: isGood }))
  }

  /** Runs a call as OpenCode does: side by side with the other calls of the answer. */
  private async run(row: Row, part: Part, input: Record<string, unknown>, random: Random, isAborted: boolean): Promise<void> {
    const { session, plugin } = this
    const args = { ...input }
    const start = this.machine.now()
    const settle = (state: NonNullable<Part["state"]>) => {
      part.state = state
      row.changed()
    }
    settle({ status: "running", input: args, time: { start } })
    if (isAborted) {
      const metadata = { interrupted: true, ...(random.chance(0.4) && { output: sectioned(random, 200) }) }
      if (random.chance(0.8)) settle({ status: "error", input: args, error: "Tool execution aborted", metadata, time: { start, end: this.machine.now() } })
      return
    }
    if (random.chance(0.05)) {
      settle({ status: "error", input: args, error: sectioned(random, random.pick([30, 300])), time: { start, end: this.machine.now() } })
      return
    }
    const ours = plugin.has.tool?.[part.tool!]
    let output: string
    if (ours) {
      try {
        output = (await ours.execute(args, { sessionID: session.id, callID: part.callID!, abort: new AbortController().signal })).output
        this.say(`  ${part.tool} ${JSON.stringify(args)}: ${excerpt(output)}`)
      } catch (err) {
        settle({ status: "error", input: args, error: err instanceof Error ? err.message : String(err), time: { start, end: this.machine.now() } })
        return
      }
    } else {
      output = this.author.output(random)
    }
    const result = { title: "", output, metadata: { preview: output.slice(0, 200), truncated: false } }
    settle({ status: "completed", input: args, output: result.output, title: result.title, metadata: result.metadata, time: { start, end: this.machine.now() } })
  }
}

function blockOf(kind: Block["kind"], more: Partial<Block>): Block {
  return { kind, text: "", id: "", name: "", input: "", signature: "", isError: false, message: "", part: "", ...more }
}

/** The path of the shim's log below the directory for temporary files. */
export function shimLogPath(temporary: string, harness: Harness): string {
  const user = process.getuid?.() ?? ""
  return join(temporary, `magicctx-${user}`, `${harness}-shim-${process.pid}.log`)
}
