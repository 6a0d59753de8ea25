import type { Machine } from "./machine.ts"

export interface Pass {
  pass: number
  verdict: string
  cause: string
  bust: boolean
  bustCause: string
  size: number
  /** In tokens: the rent of the content that a bust removed, the price of the bust, and the size of that content. */
  rent: number
  cost: number
  removed: number
  /**
   * Whether a prompt had been refused when this line was read. Before the judge checks the pass, an answer may have
   * come.
   */
  isAfterRefusal: boolean
}

/** Events in a session since its last good pass that may explain a bust. */
export interface Happenings {
  flush: boolean
  /** A prompt was refused, and no answer has reported its usage since. */
  refused: boolean
  /** The plugin was loaded again, so the shim has forgotten its patches. */
  reloaded: boolean
  systemChanged: boolean
  /** OpenCode has pruned outputs since the newest usage. */
  pruned: boolean
  /** The newest time at which the provider held the prefix. */
  lastUse: number
}

export interface Sizes {
  tokens: number
  /** If a pass finds the head reverted: the expected size without the head. */
  expected: number
  /** If a pass finds the head reverted: the size without the head. */
  headless: number
  /** The expected size of a fork, if returning content looks as the fork's original last sent it. */
  copied: number
}

/**
 * The judge knows these facts about a request from the request, OpenCode's store and the test's own actions. The causes
 * in the host's journal must agree with the facts.
 */
export interface Facts {
  report: (rule: string, detail: string) => void
  happened: Happenings
  /** Comparisons with the last good request, if there was one. */
  last: { isSameModel: boolean; isSameSystem: boolean; stands: () => boolean } | undefined
  hasLostDatabase: boolean
  /** The size of the prompt without additions by the pass; undefined if the pass was for another prompt. */
  expected: number | undefined
  /** The number of tokens by which the prompt has shrunk; undefined if several busts contributed. */
  shrunk: number | undefined
  /** The share of the prompt that no earlier request has had, from 0 to 1. */
  fresh: number
  window: number
}

export class Journal {
  private last = 0
  private lastRent = -1
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
      "SELECT pass, verdict, cause, bust, bust_cause, size_tokens, rent_tokens, cost_tokens, removed_tokens FROM passes WHERE session_id = ? AND pass > ? ORDER BY pass", this.session, this.last,
    )
    const passes = rows.map((r) => ({ pass: Number(r.pass), verdict: String(r.verdict), cause: String(r.cause), bust: r.bust === 1, bustCause: String(r.bust_cause), size: Number(r.size_tokens), rent: Number(r.rent_tokens), cost: Number(r.cost_tokens), removed: Number(r.removed_tokens), isAfterRefusal }))
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
        // This is the shortest cache life of any route, minus a second because the two clocks may differ.
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
        // Until the next usage, the host relies on the last one. So it does not notice the outputs that
        // OpenCode has pruned (-seed 1000133).
        if (happened.refused || happened.pruned) break
        if (last && expected !== undefined && expected < 0.3 * window) report("false-pressure", `pass ${pass} busts for ${bustCause} and believes in ${size} tokens, where ${expected} are to be sent in a window of ${window}`)
        break
      case "system-changed":
        // In the first request after the loss of its database, the host may have been late. Then the host was
        // not asked for the system prompt. The shim has repeated a system prompt that the new database lacks
        // (-seed 730006).
        if (facts.hasLostDatabase && pass === 2) break
        if (!happened.systemChanged && last?.isSameSystem) lie("the system prompt is the same")
        break
      case "transcript-changed":
        if (last?.isSameModel && last.stands()) lie("all that was sent before is still there")
        break
      case "rent":
        this.checkRent(bust, facts)
        break
    }
  }

  /**
   * A bust for rent comes when the rent has reached the price that the bust had at the last lump, or at its cheapest
   * time since (docs/decisions.md). The journal holds only the present cost, which rises while the session waits: a
   * piece near the end is cheap to remove at first. In the sessions played so far, the cost is at most five times the
   * rent (-seed 4040427 in Pi). The cost includes new content of this request, which would be written to the cache
   * without a bust, too (-seed 4030214 in Pi). Two passes one after the other never both bust for rent, and a bust for
   * rent makes the prompt shorter.
   */
  private checkRent({ pass, rent, cost, removed }: Pass, { report, shrunk, fresh }: Facts): void {
    const lie = (why: string) => report("cause-untrue", `pass ${pass} busts for rent, but ${why}`)
    if (rent < Math.floor((cost * (1 - fresh)) / 6)) lie(`it costs ${cost} tokens, and the rent is ${rent}`)
    if (pass === this.lastRent + 1) lie("so did the pass before")
    // Each of the two numbers of tokens may be wrong by a factor of two.
    if (shrunk !== undefined && shrunk < removed / 4) lie(`it removes ${removed} tokens, and the prompt has ${shrunk} less`)
    this.lastRent = pass
  }
}

/** The host's estimate of the prompt's size must be near to the real size. */
export function checkSize(pass: Pass, { expected, headless, copied, tokens }: Sizes, { report, happened, window }: Pick<Facts, "report" | "happened" | "window">): void {
  // Until the next usage, the host relies on the last one. So it does not notice the outputs that OpenCode has
  // pruned (-seed 700222).
  if (pass.size === 0 || happened.refused || happened.pruned) return
  // A steady pass sends the prompt whose size it has estimated. Two kinds of other passes may do so, too. The
  // first is a fork's first pass: it applies the edits of the original, which no earlier request of the fork
  // shows. After the loss of the database, the first pass of any session may be of this kind (-seed 700231).
  // The second is a pass in which messages return with their branch, or summaries with their messages.
  const returns = pass.bustCause === "head-reverted" || pass.bustCause === "transcript-changed" || pass.verdict === "hard"
  const reals = pass.verdict === "steady" ? [tokens] : pass.pass === 1 || returns ? [expected, headless, tokens] : [expected, copied]
  const isNear = (real: number) => {
    // Messages may come back that no request has held together. Then their prompt is far beyond the window, and
    // the error of the estimate does not matter (-seed 3916314). The same holds for the first pass of a fork
    // that frees space by force (-seed 3917387, and -seed 4019243 in Pi).
    if (returns && pass.size > window && real > window) return true
    if (pass.pass === 1 && pass.cause === "force" && real > window) return true
    const [ratio, off] = [pass.size / real, Math.abs(pass.size - real)]
    // If messages have come back, the host estimates the prompt from its messages. If no short prompt has shown
    // the size of the system prompt and tools, the host does not know this size (-seed 3800056 in Pi). A new
    // model may have counted several times as many tokens as the host. Then the excess counts as system prompt
    // and tools, and the host frees space too early once (-seed 4017956 in Pi).
    return off <= (!returns ? 0.2 : pass.size > real ? 0.45 : 0.25) * window || (ratio <= 2.2 && ratio >= 0.45)
  }
  if (reals.some(isNear)) return
  report("size-belief", `pass ${pass.pass} (${pass.verdict} ${pass.cause}) believes in ${pass.size} tokens, where ${reals.join(" or ")} are to be sent in a window of ${window}`)
}
