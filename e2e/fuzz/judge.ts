import { Bindings, show, type Bound } from "./bindings.ts"
import { checkSize, Journal, type Facts, type Happenings, type Pass, type Sizes } from "./journal.ts"
import type { Machine } from "./machine.ts"
import type { Message, Session } from "./opencode.ts"
import { chainOf, promptBytes, shared, tokensOf, type Chain, type Model, type Turn } from "./provider.ts"
import { convertReally, type RealArrays } from "./really.ts"
import { content, excerpt, hasContent, head, isHead, newestPrompt, prompt, structure, substance, thinking, skeletons, stands, unread, type Head, type Hit } from "./rules.ts"
import { Stored } from "./stored.ts"

interface Kept {
  raw: string
  substance: string
  /** The calls that are sent without their results. */
  skeletons: Map<string, string>
  bytes: number
}

/** A request that the host knows completely: the shim applied the pass's answer, and the pass is in the journal. */
interface Good {
  chain: Chain
  raw: readonly Turn[]
  model: Model
  rows: Map<string, Kept>
  head: Head
  headBytes: number
  isBare: boolean
  at: number
}

export interface Attempt {
  raw: Message[]
  /** `versions[i]` is the version of `raw[i]`. It changes whenever the message changes. */
  versions: string[]
  wire: Message[]
  /** The requests that the harness would build from `raw` and from `wire`. */
  turns: { raw: Turn[]; wire: Turn[] }
  /** The arrays in the form that the real converters read. Undefined if they cannot read this harness's arrays. */
  real?: RealArrays | undefined
  system: string
  /** Whether the system prompt is the harness's own. */
  isBare: boolean
  model: Model
  outcome: "applied" | "reapplied" | "unchanged"
}

export interface Verdict extends Sizes {
  chain: Chain
  rawChain: Chain
  turns: Turn[]
  isBust: boolean
  isGood: boolean
  passes: Pass[]
}

/** What the judge has to know about a harness. */
export interface Habits {
  key(message: string): string
  window(model: Model): number
  /** Whether the harness omits a message that has no content left, as Pi and OpenCode 2 do. */
  leaves: boolean
  /** Whether the harness asks for the system prompt before the pass, as Pi does. */
  asksFirst: boolean
  /** Whether the harness removes the proofs of another model's thinking, as OpenCode 2 does. */
  removesProofs: boolean
  /** Whether the harness never sends this message, whatever its content is. */
  hides(message: Message): boolean
}

/** The real converters check every 20th pass, and also every pass with a bust. */
const sampled = 20

export class Judge {
  private good: Good | undefined
  /**
   * The form in which each message was last sent, by id. Messages that have left the array stay in this map, because in
   * Pi the user can return to their branch.
   */
  private readonly sent = new Map<string, Kept>()
  /**
   * For each head, all messages that it has replaced so far. The key is the head's joined texts. In Pi, the user can
   * return to an older branch, so a head may replace messages that were not in the last array.
   */
  private readonly stoodFor = new Map<string, { covered: Set<string>; bytes: number }>()
  /** Passes in the host's journal since the last good request. Their answers may not have reached the shim. */
  private pending: Pass[] = []
  private readonly journal: Journal
  private readonly stored: Stored
  private readonly bindings: Bindings
  private readonly tags = new Map<number, string>()
  private readonly told = new Set<string>()
  private readonly machine: Machine
  private readonly session: Session
  private readonly report: (rule: string, detail: string) => void
  private readonly scale: number
  private passes = 0
  /**
   * True if a message that was already sent has changed while the host could not write its journal. The journal then
   * lacks the bust that this change causes. So the judge accepts a changed wire without a bust until the next good
   * request.
   */
  private isUnrecorded = false
  /**
   * The newest request that the host knows only in part: its pass was not stored, or its answer reached the shim too
   * late. If the next request busts, this request may be the cause.
   */
  private halfKnown: Pick<Good, "raw" | "rows"> | undefined
  /** The digest of the newest request's system prompt, if the journal has no row for this request. */
  private unjournalledSystem: bigint | undefined
  private isForgetful = false
  private isMeasured = false
  private isNewestGood = false
  private hasLostDatabase = false
  private hasChanged = false
  happened: Happenings = { flush: false, refused: false, reloaded: false, systemChanged: false, pruned: false, lastUse: 0 }
  private forkedFrom: Map<string, Kept> | undefined
  /** If the session is a copy: the form in which its original, or the original's original, last sent each message. */
  private readonly sentByOriginal = new Map<string, Kept>()
  /** If the session is a copy: all messages that its original, the original's original, and so on, have ever sent. */
  private readonly sentByAny = new Set<string>()
  /** The size of the head in bytes, as the original has sent it. 0 if the copy does not inherit this head. */
  private forkedHeadBytes = 0
  private readonly habits: Habits

  constructor(machine: Machine, session: Session, habits: Habits, bound: Map<string, Bound>, scale: number, report: (rule: string, detail: string) => void) {
    this.machine = machine
    this.session = session
    this.habits = habits
    this.journal = new Journal(machine, session.id)
    this.stored = new Stored(machine, session, (message) => habits.key(message), () => this.journal.isEmpty)
    this.bindings = new Bindings(bound, report)
    this.scale = scale
    this.report = report
  }

  shown(): Iterable<number> {
    return this.tags.keys()
  }

  given(): number {
    return Math.max(this.stored.tags(), ...this.tags.keys())
  }

  /**
   * Records that the host's database is gone. From now on, the host knows no earlier decision, and counts tags from 1
   * again.
   */
  databaseLost(): void {
    this.good = this.forkedFrom = this.stored.original = undefined
    this.sent.clear()
    this.sentByOriginal.clear()
    this.sentByAny.clear()
    this.pending = []
    this.journal.lost()
    this.isUnrecorded = false
    this.isForgetful = this.hasLostDatabase = true
    this.bindings.databaseLost()
  }

  /**
   * Tells the judge that this session is a copy of the session of `other`. So content that was dropped in the original
   * must stay dropped in the copy. `copied` maps the ids of the original's messages to the ids of their copies.
   */
  copyOf(other: Judge, copied: ReadonlyMap<string, string>): void {
    this.bindings.inherit(other.bindings)
    this.stored.original = { stored: other.stored, messages: new Map([...copied].map(([theirs, ours]) => [ours, theirs])) }
    for (const [theirs, ours] of copied) {
      const kept = other.sent.get(theirs) ?? other.sentByOriginal.get(theirs)
      if (kept && other.good?.rows.has(theirs) !== false) this.sentByOriginal.set(ours, kept)
      if (other.sent.has(theirs) || other.sentByAny.has(theirs)) this.sentByAny.add(ours)
    }
    // Suppose that the original is itself a fork, and was compacted. Then this fork may show messages that only the
    // first session has sent, and it begins with the first session's edits (-seed 3916047, and -seed 3925304 with two
    // sessions between).
    const isOfFirst = other.stored.original && [...copied.keys()].some((id) => !other.sent.has(id) && other.sentByAny.has(id))
    if (!other.good || isOfFirst) return
    this.forkedFrom = new Map()
    // The copy inherits the head only if it has every message that the head replaces, including a pinned prompt (-seed
    // 2091).
    const { covered } = other.good.head
    const through = covered.size > 0 ? other.stored.head()?.through_key : undefined
    const hasHead = [...covered].every((id) => copied.has(id)) && (through === undefined || [...copied.keys()].some((id) => other.habits.key(id) === through))
    this.forkedHeadBytes = hasHead ? other.good.headBytes : 0
    const versions = new Map(other.session.rows.map(({ id, version }) => [id, String(version)]))
    for (const [theirs, ours] of copied) {
      // A message may have changed after the original's newest request, for example by a late text. The new content was
      // never sent (-seed 4122).
      if (!covered.has(theirs) && other.good.rows.get(theirs)?.raw.split(" ")[0] !== versions.get(theirs)) continue
      const kept = hasHead || !covered.has(theirs) ? other.good.rows.get(theirs) : undefined
      if (kept) this.forkedFrom.set(ours, kept)
    }
  }

  /** The first text of the head in the newest request. Undefined if the shim may have another head. */
  get baseline(): string | undefined {
    return this.isNewestGood && !this.happened.reloaded ? this.good?.head.texts[0] : undefined
  }

  /** Checks a request that keeps the cached prefix alive: it must begin with the last request. */
  warm(chain: Chain, raw: readonly Turn[], model: Model): void {
    const { good } = this
    if (!good || !this.isNewestGood || this.happened.reloaded || model !== good.model || !stands(good.raw, raw)) return
    const same = shared(good.chain, chain)
    if (same < good.chain.blocks.length) this.report("warm", `a request that keeps the prefix warm differs from the last request ${same < 0 ? "in its system prompt" : `in block ${same}, which was ${show(good.chain.blocks[same])} and is ${show(chain.blocks[same])}`}`)
  }

  /** The newest request. If the judge reports a violation, the request is dumped for a person to read. */
  current: Attempt | undefined

  async judge(attempt: Attempt): Promise<Verdict> {
    this.current = attempt
    const { raw, wire, system, model, outcome, isBare, turns: { raw: rawTurns, wire: turns } } = attempt
    const chain = chainOf({ system, turns })
    const passes = this.journal.read(this.happened.refused)
    // Pi asks the host for the system prompt before the pass. If Pi then sends its own system prompt, the host did not
    // answer. The shim does not tell the host that such a request was sent, so the host may not know the request.
    const isGood = outcome === "applied" && passes.length > 0 && !(isBare && this.habits.asksFirst)
    const rows = this.rows(attempt, chain)
    const front = head(raw, wire)
    // Pi and OpenCode 2 do not send a message without content. Only messages up to the last one that the head replaces
    // can be missing because of the head. For a later message, `contents` checks that an edit explains why it is
    // missing.
    if (this.habits.leaves) {
      let through = raw.findIndex(({ info }) => this.habits.key(info.id) === this.stored.head()?.through_key)
      // If a revert removes the newest covered message while no host runs, the shim still sends the head in place of
      // the remaining covered messages (-seed 720002).
      if (through < 0 && outcome === "reapplied") through = raw.findLastIndex(({ info }) => this.good?.head.covered.has(info.id) ?? false)
      for (const { info } of raw.slice(through + 1)) front.covered.delete(info.id)
    }
    const headBytes = chain.blocks.reduce((sum, { block, bytes }) => sum + (isHead(block.message) ? bytes : 0), 0)
    this.hasChanged = [...(this.good?.rows ?? []), ...(this.halfKnown?.rows ?? [])].some(([id, { raw }]) => rows.has(id) && rows.get(id)!.raw !== raw)
    const expected = tokensOf(this.expectedBytes(rawTurns, rows, chain), this.scale)
    const tokens = tokensOf(chain.bytes, this.scale)
    const rawChain = model.binds ? chainOf({ system, turns: rawTurns }) : chain
    const headless = tokensOf(this.expectedBytes(rawTurns, rows, chain, false), this.scale)
    const copied = tokensOf(this.expectedBytes(rawTurns, rows, chain, true, true), this.scale)
    const returned = this.returnedBytes(rawTurns, rows, chain).map((bytes) => tokensOf(bytes, this.scale))
    const verdict: Verdict = { chain, rawChain, turns, tokens, expected, headless, copied, returned, isBust: [...this.pending, ...passes].some(({ bust }) => bust), isGood, passes }

    this.compare(structure(rawTurns, model), structure(turns, model))
    this.compare(thinking(rawTurns, rawTurns, model), thinking(rawTurns, turns, model))
    this.compare(unread(rawTurns, rawTurns), unread(rawTurns, turns))
    this.heads(front, raw, isGood)
    this.compare([], prompt(raw, wire, (tag) => tag > 0 && tag <= this.given()))
    // A host that has lost its database begins with tag 1 again. Until its first good request, the shim may still apply
    // the old host's patches, so the tags on the wire are not checked.
    if (isGood && this.isForgetful) {
      this.isForgetful = false
      this.tags.clear()
    }
    if (!this.isForgetful) this.contents(raw, wire, rows, front)
    if (model.binds) this.checkBindings(verdict, attempt)
    if (outcome === "applied") this.cameBack(raw, rows, front, [...this.pending, ...passes])
    else this.fallback(raw, rows, attempt, verdict)
    if (isGood) this.extends(chain, rawTurns, verdict, attempt)
    else if (outcome === "applied" && this.good && (this.hasChanged || !stands(this.good.raw, rawTurns))) this.isUnrecorded = true
    if (!isGood && (outcome === "applied" || passes.length > 0)) this.halfKnown = { raw: rawTurns, rows }
    if (passes.length === 0) this.unjournalledSystem = chain.start
    // The size is checked only if exactly one pass belongs to this request. If the shim has repeated or lost a pass,
    // another pass may have changed the size. Until the first usage, the host does not know the size of the system
    // prompt (-seed 740115).
    this.isMeasured ||= raw.some(({ info: { tokens } }) => tokens && tokens.input + tokens.cache.read + tokens.cache.write > 0)
    if (passes.length === 1 && this.pending.length === 0 && isGood && this.isMeasured) checkSize(passes[0]!, verdict, this.circumstances(model))
    if (verdict.isBust || this.passes % sampled === 0) await convertReally(attempt, this.report)

    this.isNewestGood = isGood
    this.pending.push(...passes)
    // If the pass was not stored, the host may forget its decisions about thinking that is new in this request.
    if (!isGood) for (const { block } of chain.blocks) if (block.kind === "thinking" && !this.good?.rows.has(block.message)) this.bindings.forget(block)
    if (isGood) {
      for (const [id, kept] of rows) if (!front.covered.has(id)) this.sent.set(id, kept)
      this.stoodFor.set(front.texts.join(), { covered: new Set([...this.stands(front), ...front.covered]), bytes: headBytes })
      this.good = { chain, raw: rawTurns, model, rows, head: front, headBytes, isBare: attempt.isBare, at: this.machine.now() }
      this.pending = []
      this.forkedFrom = undefined
      this.isUnrecorded = false
      this.halfKnown = this.unjournalledSystem = undefined
      this.happened.flush = this.happened.reloaded = this.happened.systemChanged = false
    }
    this.passes++
    return verdict
  }

  private rows({ raw, wire, versions }: Attempt, chain: Chain): Map<string, Kept> {
    const bytes = new Map<string, number>()
    for (const { block, bytes: n } of chain.blocks) bytes.set(block.message, (bytes.get(block.message) ?? 0) + n)
    const rows = new Map<string, Kept>()
    const wires = new Map(wire.map((message) => [message.info.id, message]))
    for (const [i, { info: { id } }] of raw.entries()) {
      const is = wires.get(id)
      rows.set(id, { raw: versions[i]!, substance: is ? substance(is) : "", skeletons: is ? skeletons(is) : new Map<string, string>(), bytes: bytes.get(id) ?? 0 })
    }
    return rows
  }

  /**
   * Returns the size that the prompt would have if the pass changed nothing: each old message would have the form in
   * which it was last sent, and new messages would be whole. If the user returns to a branch in Pi, the messages of
   * this branch keep their edits (-seed 2116), and the head still replaces the messages that it covers (-seed 750049).
   *
   * A fork may contain a message that it has never sent itself. Such a message has the form in which the original last
   * sent it. This happens in the first request (-seed 900057), if the fork loses its head (-seed 5000375), and if the
   * message comes back with its branch (-seed 6000355). But if a summary by the harness hid the message at the time of
   * the fork, the host has no edits for it (-seed 7000035, and 4015986 in Pi).
   */
  private expectedBytes(raw: readonly Turn[], rows: Map<string, Kept>, chain: Chain, hasHead = true, isCopied = !hasHead): number {
    const last = this.good?.rows ?? this.forkedFrom
    const kept = (id: string) => {
      const its = hasHead && last?.has(id) ? last.get(id) : this.sent.get(id)
      if (its) return !this.good || its.raw === rows.get(id)!.raw ? its : undefined
      return this.good && !isCopied ? undefined : this.sentByOriginal.get(id)
    }
    const headBytes = hasHead ? (this.good?.headBytes ?? (this.forkedFrom ? this.forkedHeadBytes : 0)) : 0
    const covered = hasHead && this.good ? this.stands(this.good.head) : new Set()
    return promptBytes(raw, rows.keys(), chain, headBytes, (id) => covered.has(id) && !last?.has(id), kept)
  }

  /**
   * In Pi, the user can return to an older branch. The messages of this branch then come back, and the head that the
   * branch had may come back with them. Returns one size for each such head: the size of a prompt that begins with it
   * (-seed 4050444 in Pi).
   */
  private returnedBytes(raw: readonly Turn[], rows: Map<string, Kept>, chain: Chain): number[] {
    const kept = (id: string) => (this.sent.get(id)?.raw === rows.get(id)!.raw ? this.sent.get(id) : undefined)
    return [...this.stoodFor.values()]
      .filter(({ covered }) => [...covered].some((id) => rows.has(id) && !this.good?.rows.has(id)))
      .map(({ covered, bytes }) => promptBytes(raw, rows.keys(), chain, bytes, (id) => covered.has(id), kept))
  }

  /** All messages that a head with these texts has replaced so far. */
  private stands({ texts }: Head): Set<string> {
    return this.stoodFor.get(texts.join())?.covered ?? new Set()
  }

  private compare(known: Hit[], hits: Hit[]): void {
    const before = new Set(known.map(({ rule, at }) => `${rule} ${at}`))
    for (const { rule, at, detail } of hits) {
      const name = `${rule} ${at}`
      if (before.has(name)) continue
      // Missing thinking is missing in all later requests, too. So each finding is reported once.
      if (at === "" || !this.told.has(name)) this.report(rule, detail)
      this.told.add(name)
    }
  }

  /**
   * Checks that the sent head is the stored head, and that compartments contain every message that the head replaces.
   * If a message were neither sent nor in a compartment, the model would never learn of it.
   */
  private heads({ texts, covered, hits }: Head & { hits: Hit[] }, raw: Message[], isGood: boolean): void {
    this.compare([], hits)
    if (!isGood) return
    const stored = this.stored.head()
    const through = stored ? raw.findIndex(({ info }) => this.habits.key(info.id) === stored.through_key) : -1
    if (texts.length === 0) {
      if (through >= 0 && stored!.baseline !== "") this.report("head-lost", `the stored head stands for messages up to ${String(stored!.through_key)}, and no head is sent`)
      return
    }
    if (!stored || [stored.baseline, stored.acknowledgement, stored.delta].some((text, i) => text !== texts[i])) {
      this.report("head-bytes", `the head is not the stored one: ${excerpt(texts.join(" | "), 200)}`)
    }
    const { count, words, keys } = this.stored.compartments()
    for (const [i, { info, parts }] of raw.entries()) {
      if (!covered.has(info.id) || !hasContent({ info, parts })) continue
      // A message that the head replaces may be a summary by the harness. Then it is enough if a compartment contains
      // the summary's text, or if compartments contain all messages that the summary had replaced (-seed 40).
      if (info.summary === true && (words.includes(parts.at(-1)!.text!.slice(0, 12)) || this.summarisedBy(info.id).every((id) => this.stored.names(id).some((name) => keys.has(name))))) continue
      if (i > through) this.report("uncovered", `message ${info.id} is not sent, and the head stands only for messages up to ${String(stored?.through_key)}`)
      else if (!this.stored.names(info.id).some((name) => keys.has(name))) this.report("uncovered", `message ${info.id} is not sent, and is in none of ${count} compartments`)
    }
  }

  /** Returns the messages with content that the given summary of the harness has replaced. */
  private summarisedBy(summary: string): string[] {
    const { rows } = this.session
    const request = rows.findIndex(({ id }) => id === summary) - 1
    const kept = rows.findIndex(({ id }) => id === rows[request]?.message.parts[0]?.tail_start_id)
    return rows.slice(0, kept < 0 ? request : kept).filter(({ message }) => message.info.summary !== true && hasContent(message)).map(({ id }) => id)
  }

  private contents(raw: Message[], wire: Message[], rows: Map<string, Kept>, { covered }: Head): void {
    const wires = new Map(wire.map((message) => [message.info.id, message]))
    let given: number | undefined
    const edits = (message: string) => this.stored.edits(message)
    for (const message of raw) {
      const { id } = message.info
      const [now, last] = [rows.get(id)!, this.good?.rows.get(id)]
      if (covered.has(id)) continue
      if (last && last.raw === now.raw && last.substance === now.substance && wires.has(id)) continue
      if (this.habits.leaves && !wires.has(id) && (edits(id).size > 0 || this.habits.hides(message) || !hasContent(message))) continue
      const sent = content(message, wires.get(id), edits, (tag) => tag > 0 && tag <= (given ??= this.given()))
      for (const { rule, detail } of sent.hits) this.report(rule, detail)
      for (const { tag, message, part } of sent.tags) {
        const unit = `${message} ${part}`
        const known = this.tags.get(tag)
        if (known !== undefined && known !== unit) this.report("tag-twice", `tag ${tag} named ${known} and names ${unit}`)
        this.tags.set(tag, unit)
      }
      if (message.info.role === "user" && message.parts.some((p) => p.type === "text" && p.text !== "" && !p.ignored) && !wires.get(id)?.parts.some((p) => p.type === "text" && p.text !== "")) {
        this.report("user-missing", `nothing of the user's message ${id} is sent`)
      }
    }
    const known = new Set(raw.map(({ info }) => info.id))
    for (const { info } of wire) if (!known.has(info.id) && !isHead(info.id)) this.report("extra-message", `message ${info.id} is none of OpenCode's`)
  }

  /**
   * Checks that dropped content stays away as long as its message does not change. A hard pass, or a bust for a change
   * in the past such as a revert, may bring three things back: the newest prompt, messages that the head no longer
   * covers, and a dropped call, as a skeleton, if its message needs a call.
   */
  private cameBack(raw: Message[], rows: Map<string, Kept>, { covered }: Head, passes: readonly Pass[]): void {
    // If the pass was not stored, the journal does not say whether there was a revert. But after a revert, messages are
    // missing in the array.
    const isReverted = passes.length === 0 && [...(this.good?.rows.keys() ?? [])].some((id) => !rows.has(id))
    // A copy may have lost some of its messages before its first good pass (-seed 750127).
    const isCut = !this.good && [...(this.forkedFrom?.keys() ?? [])].some((id) => !rows.has(id))
    const mayExpose = isReverted || isCut || passes.some(({ verdict, bustCause }) => verdict === "hard" || bustCause === "transcript-changed" || bustCause === "head-reverted")
    const newest = newestPrompt(raw)?.info.id
    for (const { info: { id }, parts } of raw) {
      const [last, now] = [this.good?.rows.get(id) ?? this.forkedFrom?.get(id), rows.get(id)!]
      // A copied message has not changed if it still has version 0 (-seed 1000270).
      if (!last || now.raw !== (this.good ? last.raw : "0")) continue
      // After a bust, messages may leave the head, for example because a revert removed the newest covered message. In
      // a copy, this may happen in the first good pass (-seed 740002).
      const wasCovered = this.good ? this.good.head.covered.has(id) : last.substance === ""
      if (mayExpose && (wasCovered && !covered.has(id) || id === newest)) continue
      let allowed = 60 * parts.length // each part may have got a tag and a pause
      for (const [call, its] of now.skeletons) if (mayExpose && !last.substance.includes(call)) allowed += its.length
      if (now.substance.length > last.substance.length + allowed) {
        const rule = this.good ? "came-back" : "fork-came-back"
        this.report(rule, `${id} was sent with ${last.substance.length} characters and is sent with ${now.substance.length}: ${excerpt(now.substance, 200)}`)
      }
    }
  }

  /**
   * If the host does not answer, the shim must send each unchanged message in the form in which it was last sent. That
   * is also true if the host could not store the pass of the last request (-seed 4018010). There are two exceptions:
   * the shim may have learned of a bust from an answer that came too late for its own request (-seed 100182), and it
   * has no patches for a message that comes back with its branch (-seed 4017093).
   */
  private fallback(raw: Message[], rows: Map<string, Kept>, { outcome, model }: Attempt, { tokens, expected, isBust }: Verdict): void {
    if (!this.good || this.happened.reloaded || isBust) return
    // If the model has changed, OpenCode 2 removes the proofs of the old model's thinking, so most answers change.
    if (this.habits.removesProofs && model !== this.good.model) return
    for (const { info: { id } } of raw) {
      const [last, now] = [this.good.rows.get(id), rows.get(id)!]
      if (!last || last.raw !== now.raw || last.substance === now.substance || this.halfKnown?.rows.has(id) === false || this.halfKnown?.rows.get(id)?.substance === now.substance) continue
      this.report("fallback", `without the host (${outcome}) the prompt has ${tokens} tokens where ${expected} were to be expected; ${id} was sent as ${excerpt(last.substance, 120)} and is sent as ${excerpt(now.substance, 120)}`)
      return
    }
  }

  /** Checks that the wire begins with the last wire. If it does not, the journal must give a true cause. */
  private extends(chain: Chain, raw: readonly Turn[], { passes, expected, tokens }: Verdict, { model, isBare }: Attempt): void {
    const busts = [...this.pending, ...passes].filter(({ bust }) => bust)
    const last = this.good && {
      isSameModel: this.good.model === model,
      isSameSystem: this.good.chain.start === chain.start,
      // A message may appear and disappear again between two good requests. The prompt then counts as changed, because
      // the host has seen the message.
      stands: () => !this.hasChanged && stands(this.good?.raw ?? [], raw) && stands(this.halfKnown?.raw ?? [], raw),
    }
    const grown = this.good ? expected - tokensOf(this.good.chain.bytes, this.scale) : 0
    const facts = {
      ...this.circumstances(model), last, hasLostDatabase: this.hasLostDatabase,
      shrunk: busts.length === 1 ? expected - tokens : undefined, fresh: Math.min(1, Math.max(0, grown / tokens)),
    }
    // Only the newest pass belongs to this prompt. An earlier pass may belong to the prompt before a compaction, so it
    // is not compared with this prompt's size.
    for (const bust of busts) this.journal.check(bust, { ...facts, expected: bust === passes.at(-1) ? expected : undefined })
    if (!this.good || model !== this.good.model) return
    const same = shared(this.good.chain, chain)
    if (same === this.good.chain.blocks.length || busts.length > 0 || this.isUnrecorded) return
    // If the host answers the hook for the system prompt too late, the harness sends its own system prompt. The host's
    // pass cannot know that (-seed 10021, on a busy machine).
    if (same < 0 && isBare !== this.good.isBare) return
    // The journal has no row for the first request with this system prompt, because that pass was not stored in time.
    // So it cannot name the bust (-seed 900292).
    if (same < 0 && this.unjournalledSystem === chain.start) return
    // In a hard pass, the cached prefix is gone anyway, so the system prompt may change, for example its date.
    if (same < 0 && [...this.pending, ...passes].some(({ verdict }) => verdict === "hard")) return
    if (same < 0) this.report("system-unrecorded", "the system prompt is another one than that of the last request, and the journal has no bust")
    else {
      const [was, is] = [this.good.chain.blocks[same], chain.blocks[same]]
      this.report("append-only", `pass ${passes.at(-1)?.pass} is ${passes.at(-1)?.verdict} (${passes.at(-1)?.cause}) without a bust, but block ${same} of ${this.good.chain.blocks.length} was ${show(was)} and is ${show(is)}`)
    }
  }

  private circumstances(model: Model): Pick<Facts, "report" | "happened" | "window"> {
    return { report: this.report, happened: this.happened, window: this.habits.window(model) }
  }

  private checkBindings({ chain, rawChain, passes, isBust, isGood }: Verdict, { turns: { raw }, outcome }: Attempt): void {
    const { original } = this.stored
    this.bindings.check({
      chain, rawChain, raw, passes, outcome, isBust, isGood, isCopy: original !== undefined, hasGood: this.good !== undefined,
      isReloaded: this.happened.reloaded, hasLostDatabase: this.hasLostDatabase,
      wasSent: (id) => this.sent.has(id) || original?.messages.has(id) === true,
      isInLast: (id) => this.good?.rows.has(id) ?? false,
    })
  }
}
