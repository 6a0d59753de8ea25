import type { Machine } from "./machine.ts"

export interface Pass {
  pass: number
  verdict: string
  cause: string
  bust: boolean
  bustCause: string
  size: number
  /**
   * These three are in tokens: the rent of the removed content since the last bust, the price of the bust, and the size
   * of the removed content.
   */
  rent: number
  cost: number
  removed: number
  /** Whether this pass sent a different head from the previous pass. */
  isNewHead: boolean
  /**
   * Whether a prompt had already been refused when this row was read. By the time the judge checks the pass, another
   * prompt may have been accepted, so that Happenings.refused is false again.
   */
  isAfterRefusal: boolean
}

/**
 * What has happened in a session since its last good pass, which is the last pass whose wire the shim has applied. If a
 * pass busts, one of these events must explain the bust.
 */
export interface Happenings {
  flush: boolean
  /** A prompt was refused, and no later answer has reported its usage yet. */
  refused: boolean
  /** The plugin was loaded again, so the shim has no patches. */
  reloaded: boolean
  systemChanged: boolean
  /** OpenCode has pruned outputs since the newest usage. */
  pruned: boolean
  /** The newest time at which the provider read or wrote the prefix. */
  lastUse: number
}

export interface Sizes {
  tokens: number
  /** The size that the host should expect before this pass changes anything. */
  expected: number
  /** The expected size if the head is gone. */
  headless: number
  /** The expected size if messages come back to a fork in the form in which the original session last sent them. */
  copied: number
  /** The expected sizes if an earlier head comes back with its branch. */
  returned: readonly number[]
}

/**
 * Facts about a request that the judge finds out by itself, without asking the host. The causes in the host's journal
 * must agree with these facts.
 */
export interface Facts {
  report: (rule: string, detail: string) => void
  happened: Happenings
  /**
   * Comparisons with the last good request, to which the shim has applied a wire of the host. Undefined if there was
   * none.
   */
  last: { isSameModel: boolean; isSameSystem: boolean; stands: () => boolean } | undefined
  hasLostDatabase: boolean
  /** The size of the prompt before the pass changed anything. Undefined if the pass was for another prompt. */
  expected: number | undefined
  /** The tokens by which the bust made the prompt shorter. Undefined if there were several busts. */
  shrunk: number | undefined
  /** The share of the prompt that is new, from 0 to 1. */
  fresh: number
  window: number
}

export class Journal {
  private last = 0
  private lastRent = -1
  private lastRentHadNewHead = false
  private lastHead = ""
  private readonly machine: Machine
  private readonly session: string

  constructor(machine: Machine, session: string) {
    this.machine = machine
    this.session = session
  }

  get isEmpty(): boolean {
    return this.last === 0
  }

  lost(): void {
    this.last = 0
    this.lastRent = -1
  }

  read(isAfterRefusal: boolean): Pass[] {
    const rows = this.machine.read(
      "SELECT pass, verdict, cause, bust, bust_cause, size_tokens, rent_tokens, cost_tokens, removed_tokens, baseline_tokens || ' ' || delta_tokens AS head FROM passes WHERE session_id = ? AND pass > ? ORDER BY pass", this.session, this.last,
    )
    const passes = rows.map((r) => ({ pass: Number(r.pass), verdict: String(r.verdict), cause: String(r.cause), bust: r.bust === 1, bustCause: String(r.bust_cause), size: Number(r.size_tokens), rent: Number(r.rent_tokens), cost: Number(r.cost_tokens), removed: Number(r.removed_tokens), isNewHead: this.lastHead !== (this.lastHead = String(r.head)), isAfterRefusal }))
    this.last = passes.at(-1)?.pass ?? this.last
    return passes
  }

  check(bust: Pass, facts: Facts): void {
    const { pass, bustCause, cause, size, isAfterRefusal } = bust
    const { report, happened, last, expected, window } = facts
    const lie = (why: string) => report("cause-untrue", `pass ${pass} busts for ${bustCause}, but ${why}`)
    switch (bustCause) {
      case "unexplained":
        report("unexplained", `pass ${pass} (${cause}) is a bust that nothing explains`)
        break
      case "":
        report("unexplained", `pass ${pass} (${cause}) is a bust without a cause`)
        break
      case "first-pass":
        if (last) lie("the session had passes before")
        break
      case "model-changed":
        if (last?.isSameModel) lie("the model is the same")
        break
      case "idle": {
        const idle = this.machine.now() - happened.lastUse
        // Five minutes is the shortest cache life of any route. The judge's clock and the host's clock may differ by a
        // second.
        if (last && idle < 5 * 60_000 - 1000) lie(`the last use is ${Math.round(idle / 1000)} s ago`)
        break
      }
      case "flush":
        if (!happened.flush) lie("the user did not ask")
        break
      case "overflow":
        if (!happened.refused && !isAfterRefusal) lie("no prompt was refused")
        break
      case "force":
      case "pressure":
        // OpenCode may have pruned outputs. The host learns this only when the provider next reports a usage. Until
        // then, it may bust for a pressure that no longer exists (-seed 1000133).
        if (happened.refused || happened.pruned) break
        if (last && expected !== undefined && expected < 0.3 * window) report("false-pressure", `pass ${pass} busts for ${bustCause} and believes in ${size} tokens, where ${expected} are to be sent in a window of ${window}`)
        break
      case "system-changed":
        // The host lost its database, and then answered the first request too late, so the shim sent an old system
        // prompt. The new database does not contain this prompt, so the next pass sees a change (-seed 730006).
        if (facts.hasLostDatabase && pass === 2) break
        if (!happened.systemChanged && last?.isSameSystem) lie("the system prompt is the same")
        break
      case "head-reverted": // in a hard pass, messages may have come back
      case "transcript-changed":
        if (bust.verdict === "steady" && last?.isSameModel && last.stands()) lie("all that was sent before is still there")
        break
      case "rent":
        this.checkRent(bust, facts)
        break
    }
  }

  /**
   * A pass busts for rent when the rent reaches the lowest price that the bust has had since the last lump
   * (docs/decisions.md). The journal contains only the price at the time of the bust. This price is higher, because
   * content is cheap to remove at first, when it is near the end of the prompt. In all sessions so far, the price in
   * the journal was at most five times the rent (-seed 4040427 in Pi). The price also includes new content of this
   * request, which costs the same without a bust (-seed 4030214 in Pi).
   *
   * The prompt must become shorter. Two successive passes may both bust for rent only if the second shows a new summary
   * and the first did not, because the messages that a summary could replace have a separate rent
   * (TestSummaryHasItsRentAfterABustForDrops, and -seed 3925169).
   */
  private checkRent({ pass, rent, cost, removed, isNewHead }: Pass, { report, shrunk, fresh }: Facts): void {
    const lie = (why: string) => report("cause-untrue", `pass ${pass} busts for rent, but ${why}`)
    if (rent < Math.floor((cost * (1 - fresh)) / 6)) lie(`it costs ${cost} tokens, and the rent is ${rent}`)
    if (pass === this.lastRent + 1 && (this.lastRentHadNewHead || !isNewHead)) lie("so did the pass before")
    // Each of the two numbers is an estimate that may be off by a factor of two, so they may differ by a factor of
    // four.
    if (shrunk !== undefined && shrunk < removed / 4) lie(`it removes ${removed} tokens, and the prompt has ${shrunk} less`)
    this.lastRent = pass
    this.lastRentHadNewHead = isNewHead
  }
}

/** Checks the host's estimate of the prompt's size against the real size. */
export function checkSize(pass: Pass, { expected, headless, copied, returned, tokens }: Sizes, { report, happened, window }: Pick<Facts, "report" | "happened" | "window">): void {
  // OpenCode may have pruned outputs. The host learns this only when the provider next reports a usage, so until then,
  // its estimate may be too large (-seed 700222).
  if (pass.size === 0 || happened.refused || happened.pruned) return
  // A steady pass changes nothing, so its estimate must be near `tokens`, the size that was sent. A busting pass
  // estimates the size before its changes. But in two cases, its estimate may also be near the size that was sent.
  // First, a fork begins with the edits of the original session, so the estimate of its first pass already includes
  // them. If the database was lost, any session may begin with a first pass near that size (-seed 700231). Second,
  // messages may come back, because the user has returned to their branch or because a summary was removed.
  const returns = pass.bustCause === "head-reverted" || pass.bustCause === "transcript-changed" || pass.verdict === "hard"
  const reals = pass.verdict === "steady" ? [tokens] : pass.pass === 1 || returns ? [expected, headless, tokens, ...returned] : [expected, copied, ...returned]
  const isNear = (real: number) => {
    // Messages that come back may meet messages with which they never shared a prompt. For example, after a revert has
    // removed the head, the messages behind it return beside later messages, which were only ever sent with the head.
    // Together, they can be much larger than the window. The host must free space in any case, so an error of its
    // estimate does not matter (-seed 3916314). The same is true of the first pass of a fork if it frees space by force
    // (-seed 3917387, and -seed 4019243 in Pi).
    if (returns && pass.size > window && real > window) return true
    if (pass.pass === 1 && pass.cause === "force" && real > window) return true
    const [ratio, off] = [pass.size / real, Math.abs(pass.size - real)]
    // When messages come back, the host adds up its estimates of all messages. It may not know the size of the system
    // prompt and the tools (-seed 3800056 in Pi). After a change of the model, it may overestimate this size, because
    // the new model counts more tokens. Then the host frees space too early, but only once (-seed 4017956 in Pi).
    return off <= (!returns ? 0.2 : pass.size > real ? 0.45 : 0.25) * window || (ratio <= 2.2 && ratio >= 0.45)
  }
  if (reals.some(isNear)) return
  // A revert may remove the head. Then the host counts the messages that come back with all their edits. Some edits were
  // never sent, because the head replaced their messages in the same pass (-seed 3926160). A fork of a fork begins with
  // edits that the judge does not know either (-seed 3927156). So the judge knows only two bounds of these sizes: all
  // messages as they were last sent, and the prompt of this pass.
  if ((pass.bustCause === "head-reverted" || pass.pass === 1) && pass.size > tokens && pass.size < headless) return
  report("size-belief", `pass ${pass.pass} (${pass.verdict} ${pass.cause}) believes in ${pass.size} tokens, where ${reals.join(" or ")} are to be sent in a window of ${window}`)
}
