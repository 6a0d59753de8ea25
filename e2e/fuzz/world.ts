import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { answer } from "./answer.ts"
import { Author } from "./author.ts"
import { between, revert } from "./between.ts"
import { add, compact, instructions, remind, settle, update } from "./between2.ts"
import { disturb, troubles } from "./disturb.ts"
import type { Bound } from "./bindings.ts"
import { Judge, type Habits, type Verdict } from "./judge.ts"
import { Machine, Tail } from "./machine.ts"
import { Ids, noTokens, Plugin, Row, Session, userMessage, type Info, type Message, type Part } from "./opencode.ts"
import { manners, summarise, type Manner, type Summary } from "./historian.ts"
import { OpenCode2 } from "./opencode2.ts"
import { PiPlugin } from "./pi.ts"
import { convert, isHidden, models, refusal, type Model } from "./provider.ts"
import { prose, Random, sectioned } from "./random.ts"
import { excerpt } from "./rules.ts"
import { Caches, floor } from "./usage.ts"

/** What a shim exports: the server function of OpenCode's plugin, or Pi's extension. */
export type Server = unknown
export type Harness = "opencode" | "opencode2" | "pi"

export interface Finding {
  seed: number
  pass: number
  session: string
  rule: string
  detail: string
}

const answers = { calls: 74, text: 18, aborted: 4, failed: 3, empty: 1 }

export const minute = 60_000

/** Whether the turn continues after a request. */
type Outcome = "go on" | "done"

export class World {
  readonly findings: Finding[] = []
  readonly counts: Record<string, number> = {}
  passes = 0
  readonly seed: number
  readonly machine: Machine
  readonly ids: Ids
  readonly plugin: Plugin | OpenCode2 | PiPlugin
  readonly isPi: boolean
  /** The plugin, if the harness is OpenCode 2. */
  readonly two: OpenCode2 | undefined
  readonly sessions = new Map<string, Session>()
  readonly judges = new Map<string, Judge>()
  readonly author = new Author(() => [...this.judge.shown()])
  readonly windows = new Map<Model, number>()
  readonly bound = new Map<string, Bound>()
  readonly scale: number
  readonly server: Server
  private readonly shimLog: Tail
  readonly say: (line: string) => void
  private readonly most: number
  private readonly dump: string
  /** Whether the deadlines of passes are so short that a request gives up when the host is slow. */
  private readonly isHasty: boolean
  session: Session
  instructions = 0
  calls = 0
  private turns = 0
  private began = 0
  /**
   * Whether the shim used its last system prompt again because it could not ask the host. The host then does not know
   * the newest request.
   */
  isSystemRepeated = false
  /** How many successive prompts each model has refused. */
  readonly refusals = new Map<Model, number>()
  /**
   * Whether the host died while the model gave the newest answer. In that case, only the shim knows the prompt of this
   * answer.
   */
  isUnheard = false
  /**
   * Whether this turn is a part of the event `unsavedTag`: the host gives tags that it cannot store, and is then
   * killed.
   */
  isUnsaved = false
  private outage = 0
  private retried: Row | undefined
  private readonly caches: Caches
  private readonly manner: Manner | "none" | "mixed"
  private summaries = 0
  private readonly prompts: Tail
  /**
   * `withheld` has the first characters of each text that the user withheld from the model. `attached` has the
   * first characters of other texts that the user did not type, for example of an attached file.
   */
  readonly withheld: string[] = []
  readonly attached: string[] = []

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
    this.two = harness === "opencode2" ? new OpenCode2(this) : undefined
    const one = () => new Plugin(this.machine.project, this.sessions, this.windows, this.ids, this.machine, (prompt) => this.summarise(prompt))
    this.plugin = this.two ?? (this.isPi ? new PiPlugin(this.machine.project, this.sessions, this.windows, () => this.system()) : one())
    this.prompts = new Tail(join(this.machine.directory, "prompts"))
    Object.assign(process.env, { MAGICCTX_FUZZ_PROMPTS: join(this.machine.directory, "prompts"), MAGICCTX_FUZZ_MANNER: this.manner })
    this.session = this.open(new Session(this.ids.next("ses")))
    this.session.model = random.weighted({ anthropic: 7, other: 5 }) === "anthropic" ? models[0]! : random.pick(models)
    say(`world ${seed}: protected_tags ${protectedTags}, window ${this.windows.get(this.session.model)}, ${this.session.model.provider}/${this.session.model.id}, scale ${this.scale}, historian ${this.manner}, ${this.most} passes${this.two ? `, beta ${this.two.isBeta}` : ""}`)
  }

  summarise(prompt: string): Summary {
    const random = Random.of(this.seed, "summary", ++this.summaries)
    this.reads(prompt)
    const manner = this.manner === "mixed" || this.manner === "none" ? random.pick(manners) : this.manner
    this.note(`historian ${manner}`)
    return summarise(manner, prompt, random)
  }

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
        if (this.turns > 1) await between(this, random)
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
   * Stops the shim's host at once. The shim would keep the host for two seconds, in case the plugin is loaded again,
   * but the next world needs another host.
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

  find(rule: string, detail: string): void {
    this.counts[`! ${rule}`] = (this.counts[`! ${rule}`] ?? 0) + 1
    const finding = { seed: this.seed, pass: this.passes, session: this.session.id, rule, detail }
    this.say(`  ! ${rule}: ${detail}`)
    if (this.findings.some((f) => f.rule === rule)) return
    this.findings.push(finding)
    if (!this.dump) return
    const journal = this.machine.read("SELECT * FROM passes WHERE session_id = ? ORDER BY pass DESC LIMIT 8", this.session.id)
    const stored = this.machine.read("SELECT * FROM sessions WHERE session_id = ?", this.session.id)
    writeFileSync(join(this.dump, `${this.seed}-${this.passes}-${rule}.json`), JSON.stringify({ detail, journal, stored, ...this.judge.current }, null, 1))
  }

  note(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
    this.say(`  ${what}`)
  }

  open(session: Session): Session {
    const habits: Habits = {
      key: (message) => this.plugin.key(message), window: (model) => this.windows.get(model)!,
      leaves: this.isPi || this.two !== undefined, asksFirst: this.isPi, removesProofs: this.two !== undefined, hides: this.two ? () => false : isHidden,
    }
    const judge = new Judge(this.machine, session, habits, this.bound, this.scale, (rule, detail) => this.find(rule, detail))
    if (this.two) session.baseline = session.told = instructions(this)
    this.sessions.set(session.id, session)
    this.judges.set(session.id, judge)
    return session
  }

  get judge(): Judge {
    return this.judges.get(this.session.id)!
  }

  sessionInfo(session: Session): object {
    const now = this.machine.now()
    return { id: session.id, slug: "swift-orchid", version: "1.18.33", projectID: "p", directory: this.machine.project, title: "a session", time: { created: now, updated: now } }
  }

  async turn(random: Random): Promise<void> {
    const { session } = this
    const message = userMessage(session, this.ids, this.machine)
    await this.plugin.has["chat.message"]?.({ sessionID: session.id }, { message: message.info, parts: message.parts })
    const part = (more: Partial<Part> & { type: string }) => message.parts.push({ id: this.ids.next("prt"), sessionID: session.id, messageID: message.info.id, ...more })
    const length = random.pick([40, 200, 200, 800, 3000])
    if (this.two && !this.two.isBeta && random.chance(0.05)) {
      const skill = prose(random, 300)
      this.attached.push(skill.slice(0, 12))
      part({ type: "text", text: skill, synthetic: true })
    }
    part({ type: "text", ...(this.two && random.chance(0.05) && { isMarked: true }), text: random.chance(0.4) ? sectioned(random, length, this.author.lead(random, 0.1)) : prose(random, length) })
    if (random.chance(0.06)) part({ type: "file", mime: "image/png", filename: "a.png", url: `data:image/png;base64,${random.id(400)}` })
    if (!this.isPi && random.chance(0.1)) {
      const file = prose(random, random.pick([300, 3000]))
      this.attached.push(file.slice(0, 12))
      part({ type: "text", text: this.two ? `Attached file: a.txt\n\n${file}` : file, synthetic: true, isAttached: true })
    }
    if (!this.isPi && !this.two && random.chance(0.05)) part({ type: "text", text: `<system-reminder>\n${prose(random, 200)}\n</system-reminder>`, synthetic: true })
    if (!this.isPi && !this.two && random.chance(0.06)) {
      const secret = prose(random, 100)
      this.withheld.push(secret.slice(0, 12))
      part({ type: "text", text: secret, ignored: true })
    }
    if (this.two) settle(session)
    session.rows.push(new Row(message))
    this.plugin.updated(session.rows.at(-1)!)
    this.plugin.tell("session.status", { sessionID: session.id, status: { type: "busy" } })
    session.reminds = !this.two && session.agent === "plan"
    const reminder = this.two && session.agent === "plan" && random.chance(0.5) ? remind(this) : undefined
    const steps = this.isUnsaved ? 2 : random.pick([1, 2, 4, 6, 9, 14])
    for (let step = 1; step <= steps + (this.isUnsaved ? -1 : 4); step++) {
      const outcome = await this.step(step >= steps)
      // Pi identifies messages by their times in ms. A real answer takes longer than 1 ms, but here two answers could
      // get the same time, even on different branches (-seed 4015757) or after an error (-seed 4016229). So the world
      // waits until the clock has advanced.
      while (this.machine.now() <= this.began) await new Promise((done) => setTimeout(done, 1))
      if (outcome === "done" && session.rows.at(-1)!.message.info.role === "assistant") break
      if (reminder && step === 1 && session.rows.includes(reminder)) {
        reminder.message.info.kind = "synthetic" // it is stored now
        reminder.changed()
      }
      if (this.two && session.rows.at(-1)!.message.info.finish === "tool-calls" && random.chance(0.04)) this.steer(random)
      if (random.chance(0.01)) this.machine.move(random.int(1, 7) * minute) // a slow tool, or a permission that the user grants late
      else this.machine.move(random.int(1, 20) * 1000)
    }
    this.plugin.tell("session.status", { sessionID: session.id, status: { type: "idle" } })
    this.plugin.tell("session.idle", { sessionID: session.id })
  }

  /** The user sends a prompt while the model works. The next step contains it. */
  private steer(random: Random): void {
    this.note("steer")
    const message = userMessage(this.session, this.ids, this.machine)
    message.parts.push({ id: this.ids.next("prt"), sessionID: this.session.id, messageID: message.info.id, type: "text", text: prose(random, random.pick([40, 800])) })
    this.session.rows.push(new Row(message))
  }

  private async step(isLast: boolean): Promise<Outcome> {
    this.passes++
    const random = Random.of(this.seed, "step", this.passes)
    const { session, judge } = this
    const { model } = session
    const started = this.machine.now()
    const row = this.retried ?? this.newAssistant()
    this.retried = undefined
    if (this.two) update(this, random)
    const request = await this.request(random, isLast)
    if (this.isPi) this.began = row.message.info.time.created = this.machine.now() // Pi begins an answer after the pass, OpenCode 1 before it
    const { verdict } = request
    const window = this.windows.get(model)!
    this.report(verdict, request.outcome)
    if (verdict.tokens > window) return this.refuse(row, verdict, request.isDisturbed, random)
    this.refusals.clear()
    if (verdict.isGood) judge.happened.lastUse = this.machine.now() // the host need not know about other requests
    const usage = this.caches.use(model, verdict)
    const kind = isLast ? random.weighted({ text: 85, calls: 0, aborted: 6, failed: 6, empty: 3 }) : random.weighted(answers)
    if (kind === "failed") return this.two && random.chance(0.6) ? this.retry(row, random) : this.fail(row, random)
    // An aborted answer reports no usage. So the host cannot know that the provider accepted its prompt (-seed 200017).
    if (kind !== "aborted") judge.happened.refused = false
    await answer(this, row, kind, random, verdict, usage, this.two ? row.message.info.time.created : started)
    await this.plugin.settled()
    for (const prompt of this.prompts.lines()) {
      if (prompt.endsWith('"')) this.reads(JSON.parse(prompt) as string) // an agent that was killed leaves half a line
    }
    return kind === "calls" ? "go on" : "done"
  }

  private report({ tokens, passes, isGood, expected }: Verdict, outcome: string): void {
    const journal = passes.map((p) => `${p.pass} ${p.verdict} ${p.cause}${p.bust ? ` bust ${p.bustCause}` : ""} size ${p.size}`).join(", ")
    const last = passes.at(-1)
    if (last?.bust) this.counts[`bust ${last.bustCause}`] = (this.counts[`bust ${last.bustCause}`] ?? 0) + 1
    if (outcome !== "applied" || !isGood) this.counts[outcome === "applied" ? "busy" : outcome] = (this.counts[outcome === "applied" ? "busy" : outcome] ?? 0) + 1
    this.say(`pass ${this.passes} ${this.session.id.slice(4, 16)} ${outcome}: ${tokens} tokens, expected ${expected}, of ${this.windows.get(this.session.model)}; ${journal || "not in the journal"}`)
  }

  newAssistant(): Row {
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

  private async request(random: Random, isLast: boolean): Promise<{ verdict: Verdict; outcome: "applied" | "reapplied" | "unchanged"; isDisturbed: boolean }> {
    const { session } = this
    const limit = this.two && isLast && random.chance(0.05) ? add(this, "limit", "CRITICAL: use no more tools.") : undefined
    const messages = session.array(this.ids)
    const newest = session.newestUser()!
    const visible = session.visible()
    const raw = visible.map((row, i): Message => (session.reminds && row === newest ? structuredClone(messages[i]!) : row.message))
    const versions = visible.map((row) => `${row.version}${session.reminds && row === newest ? " and a reminder" : ""}`)
    this.isUnheard = false
    if (this.outage > 0 && --this.outage === 0) this.machine.bringBack()
    const trouble = this.outage > 0 ? "none" : this.isUnsaved ? "lockWhole" : random.weighted(troubles)
    if (trouble !== "none") this.note(trouble)
    const disturbed = disturb(this.machine, trouble, random, this.isHasty)
    if (disturbed.outage > 0) this.outage = disturbed.outage
    const wire = messages
    await this.guarded("messages.transform", this.plugin.has["experimental.chat.messages.transform"]!({}, { messages: wire }))
    if (this.isUnsaved || random.chance(0.7)) disturbed.end() // otherwise the disturbance also hits the next hook
    const system = [this.system()]
    const { model } = session
    await this.guarded("system.transform", this.plugin.has["experimental.chat.system.transform"]!({ sessionID: session.id, model: { id: session.model.id, providerID: session.model.provider } }, { system }))
    disturbed.end()
    const told = this.outcome()
    const outcome = told === "applied" && this.two?.newest!.isUntouched ? "unchanged" : told // a plugin that never had a host logs nothing
    const turns = this.two?.newest!.turns ?? { raw: convert(raw, model), wire: convert(wire, model) }
    const real = this.two ? this.two.newest!.real : this.isPi ? undefined : { harness: "opencode" as const, raw, wire }
    const verdict = await this.judge.judge({ raw, versions, wire, turns, real, system: system.join("\n"), isBare: system.join("\n") === this.system(), model, outcome })
    if (limit) session.rows.splice(session.rows.indexOf(limit), 1)
    // On a busy machine, a pass may fail to store its decisions in time. Then it drops nothing, so the judge treats the
    // request as disturbed.
    return { verdict, outcome, isDisturbed: trouble !== "none" || this.outage > 0 || !verdict.isGood }
  }

  async guarded(hook: string, work: Promise<void> | undefined): Promise<void> {
    const began = Date.now()
    try {
      await work
    } catch (err) {
      this.find("hook-threw", `${hook}: ${String(err)}`)
    }
    const elapsed = Date.now() - began
    this.counts[`ms in ${hook}`] = (this.counts[`ms in ${hook}`] ?? 0) + elapsed
    // In OpenCode 2, the first request also waits for the start of the host.
    if (elapsed > (this.two && this.passes === 1 ? 16_000 : 8000)) this.find("slow-hook", `${hook} took ${elapsed} ms`)
  }

  /** The result of the newest pass, from the shim's log. */
  outcome(): "applied" | "reapplied" | "unchanged" {
    let outcome: "applied" | "reapplied" | "unchanged" = this.outage > 0 ? "unchanged" : "applied"
    this.isSystemRepeated = false
    for (const line of this.shimLog.lines()) {
      this.isSystemRepeated ||= line.includes('"msg":"system prompt repeated"')
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
    if (this.two) return this.systemParts().join("\n")
    const date = new Date(this.machine.now()).toDateString()
    return (
      "You are OpenCode, the best coding agent on the planet.\n\n" + prose(Random.of("system"), 2000) +
      `\n<env>\n  Working directory: ${this.machine.project}\n  Today's date: ${date}\n</env>\nInstructions from: AGENTS.md, version ${this.instructions}\n`
    )
  }

  systemParts(): string[] {
    return ["You are OpenCode, the best coding agent on the planet.\n\n" + prose(Random.of("system"), 2000), `<env>\n  Working directory: ${this.machine.project}\n</env>\n${this.session.baseline}`]
  }

  private async refuse(row: Row, verdict: Verdict, isDisturbed: boolean, random: Random): Promise<Outcome> {
    const { session, judge } = this
    const { model } = session
    const window = this.windows.get(model)!
    const error = refusal(model, verdict.tokens, window)
    this.note("refused")
    // If the stream of events has ended, the host does not learn of the refusal (-seed 720280).
    const isUnknown = isDisturbed || judge.happened.reloaded || this.two?.isRead === false
    const refusals = isUnknown ? 0 : (this.refusals.get(model) ?? 0) + 1
    this.refusals.set(model, refusals)
    if (refusals > 1) {
      const least = floor(session, verdict, this.scale)
      if (least < 0.8 * window) this.find("refused-again", `prompt ${refusals} in a row is refused: ${verdict.tokens} tokens in a window of ${window}, where ${least} could not have been dropped; ${JSON.stringify(verdict.passes.at(-1))}`)
    }
    judge.happened.refused = true
    row.message.info.error = error
    row.message.info.finish = "error"
    row.message.info.time.completed = this.machine.now()
    // If the user allows it, OpenCode 2 compacts the session and tries again.
    const compacts = this.two && random.chance(0.3)
    if (!compacts) session.rows.push(row)
    this.plugin.updated(row)
    this.plugin.tell("session.error", { sessionID: session.id, error })
    if (compacts) await compact(this, this.two!, random)
    // If the newest prompt alone is too long, no drop can help. So the user reverts it.
    if (refusals >= 4) {
      this.refusals.clear()
      revert(this, Random.of(this.seed, "give up", this.passes))
      // After the revert, the turn may continue with an older prompt, and then with that prompt's model (-seed 310125).
      const asked = session.newestUser()!.message.info.model
      session.model = models.find(({ provider, id }) => provider === asked?.providerID && id === asked.modelID)!
    }
    return "done"
  }

  /** After a failure of the provider, OpenCode 2 tries again. */
  private retry(row: Row, random: Random): Outcome {
    this.note("retry")
    this.two!.emit("session.retry.scheduled", { sessionID: this.session.id, assistantMessageID: row.id, error: { type: "provider.rate-limit", message: "overloaded" } })
    if (random.chance(0.5)) this.two!.again((this.retried = row))
    return "go on"
  }

  private fail(row: Row, random: Random): Outcome {
    // OpenCode 2 sends the texts of a failed answer.
    if (this.two && random.chance(0.4)) {
      const part = (more: Partial<Part> & { type: string }) => row.message.parts.push({ id: this.ids.next("prt"), sessionID: this.session.id, messageID: row.id, ...more })
      if (random.chance(0.5)) part({ type: "reasoning", ...this.author.proof(random, this.session.model.proof, "thinking") })
      part({ type: "text", text: prose(random, 200) })
    }
    const message = random.pick(["overloaded_error", "bad key", "Internal server error", "rate limit: 30000 tokens per minute"])
    row.message.info.error = { name: "APIError", data: { message, statusCode: 500, isRetryable: false, responseBody: message } }
    row.message.info.time.completed = this.machine.now()
    this.session.rows.push(row)
    this.plugin.updated(row)
    this.plugin.tell("session.error", { sessionID: this.session.id, error: row.message.info.error })
    return "done"
  }

}

/** Returns the path of the shim's log. `temporary` is the directory for temporary files. */
export function shimLogPath(temporary: string, harness: Harness): string {
  const user = process.getuid?.() ?? ""
  return join(temporary, `magicctx-${user}`, `${harness === "pi" ? "pi" : "opencode"}-shim-${process.pid}.log`)
}
