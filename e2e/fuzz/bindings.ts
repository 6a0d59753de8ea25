import type { Pass } from "./journal.ts"
import { before, shared, type Block, type Chain, type Turn } from "./provider.ts"
import { excerpt, outline } from "./rules.ts"

/**
 * What a provider remembers about a thinking block. `digest` is the digest of the prompt before the block. `chain` is
 * the request that the model answered with the block. A later request may contain the block only if the prompt before
 * the block is still the same.
 */
export interface Bound {
  digest: bigint
  chain: Chain
  /**
   * The digest of OpenCode's own array up to the same place. If it has changed, OpenCode itself has invalidated the
   * thinking.
   */
  rawDigest: bigint
  /** Whether the host knows about the request. */
  isKnown: boolean
}

export interface BoundRequest {
  chain: Chain
  rawChain: Chain
  raw: readonly Turn[]
  passes: readonly Pass[]
  outcome: "applied" | "reapplied" | "unchanged"
  isBust: boolean
  isGood: boolean
  isCopy: boolean
  hasGood: boolean
  isReloaded: boolean
  hasLostDatabase: boolean
  /** Whether this session or its original has ever sent the message. */
  wasSent: (message: string) => boolean
  isInLast: (message: string) => boolean
}

/** Checks thinking as a provider with bound thinking does: each block against the prompt before it. */
export class Bindings {
  /** The binding of each thinking block, by the block's signature. All sessions of a world share the map. */
  private readonly bound: Map<string, Bound>
  private readonly lost = new Set<string>()
  private readonly report: (rule: string, detail: string) => void

  constructor(bound: Map<string, Bound>, report: (rule: string, detail: string) => void) {
    this.bound = bound
    this.report = report
  }

  /**
   * Records that the host's database is gone. The host no longer knows to which prompts the earlier thinking was bound,
   * so it may leave out all of this thinking.
   */
  databaseLost(): void {
    for (const bound of this.bound.values()) bound.isKnown = false
  }

  /**
   * Thinking that the original has lost does not have to come back in a fork. So the fork takes over the original's
   * list of lost thinking. Otherwise, a correct request could be reported. For example, the original switches to
   * another agent, which loses the thinking, and switches back. In the fork, the prompt before this thinking is the
   * right one again, but the thinking is gone for good (-seed 100167).
   */
  inherit(original: Bindings): void {
    for (const signature of original.lost) this.lost.add(signature)
  }

  forget({ signature }: Block): void {
    const bound = this.bound.get(signature)
    if (bound) bound.isKnown = false
  }

  check(request: BoundRequest): void {
    const { chain, rawChain, isGood } = request
    const invalid: Block[] = []
    const sent = new Set<string>()
    const starts = new Map<string, bigint>() // by message: the digest of the prompt before its first block
    chain.blocks.forEach(({ block }, i) => {
      if (!starts.has(block.message)) starts.set(block.message, before(chain, i))
      if (block.kind !== "thinking") return
      sent.add(block.signature)
      const bound = this.bound.get(block.signature)
      if (!bound || bound.digest === before(chain, i)) return
      // OpenCode itself may invalidate thinking, for example by moving a reminder to another message. Without an answer
      // of the host, the shim cannot know this. So such thinking is not reported as the shim's mistake.
      const inRaw = rawChain.blocks.findIndex(({ block: { signature } }) => signature === block.signature)
      if (isGood || (inRaw >= 0 && bound.rawDigest === before(rawChain, inRaw))) invalid.push(block)
    })
    if (invalid.length > 0 && !mayNotKnow(request)) {
      const was = this.bound.get(invalid[0]!.signature)!.chain
      const same = shared(was, chain)
      const what = same < 0 ? "another system prompt" : same < was.blocks.length ? `a prompt whose block ${same} was ${show(was.blocks[same])} and is ${show(chain.blocks[same])}` : "another answer"
      this.report("binding-invalid", `${invalid.length} of ${sent.size} thinking blocks are bound to another prefix, first that of ${invalid[0]!.message}, to ${what}`)
    }
    this.lose(request, sent, starts)
  }

  private lose({ raw, passes, isBust, isGood, isCopy, hasGood, hasLostDatabase }: BoundRequest, sent: ReadonlySet<string>, starts: ReadonlyMap<string, bigint>): void {
    // After a change of the model or the agent, the host removes all thinking on purpose. Usually, this pass is a bust.
    // But if only the newest answer had thinking, the wire still continues the last request, so the pass is not a bust,
    // and the lost thinking must not be reported.
    const isNewPreamble = passes.some(({ cause }) => cause === "preamble-changed" || cause === "model-changed")
    // The first pass of a fork may drop content under pressure. This invalidates the thinking after the content, as in
    // a bust. But the fork itself has no previous wire, so the journal does not call the pass a bust, and isBust is
    // false. The lost thinking must not be reported here either (-seed 200461).
    const isFirstOfFork = !hasGood && isCopy && passes.some(({ verdict }) => verdict !== "steady")
    // After the loss of the database, the shim may repeat an old system prompt in the first request. The model's answer
    // is bound to that prompt. But the new host does not know the prompt, so it may drop the answer's thinking (-seed
    // 3001).
    const isAfterLoss = hasLostDatabase && passes.some(({ pass }) => pass <= 2)
    for (const { blocks } of raw) {
      for (const [i, block] of blocks.entries()) {
        if (block.kind !== "thinking" || sent.has(block.signature) || this.lost.has(block.signature)) continue
        // Only the first block of an answer is checked. Whether a later block is valid depends on the blocks before it.
        const opens = blocks[i - 1]?.message !== block.message
        const isValid = opens && this.bound.get(block.signature)?.isKnown && this.bound.get(block.signature)?.digest === starts.get(block.message)
        if (isValid && !isBust && !isNewPreamble && !isFirstOfFork && !isAfterLoss && isGood) this.report("binding-lost", `thinking of ${block.message} is valid and is not sent, on a pass that busts nothing: ${outline(raw.slice(-2))}`)
        this.lost.add(block.signature)
      }
    }
  }
}

/**
 * True if the host has not answered, and the shim cannot know by itself that thinking is invalid. There are three
 * cases:
 *
 * 1. A newly loaded shim has no patches, so it sends OpenCode's own array. But the thinking in this array is bound to
 * the patched prompts that were sent before. The first request of a fork has the same problem (-seed 5000005).
 *
 * 2. The user may return to a branch of the session. When the user left the branch, the host told the shim to forget
 * the patches of its messages, so the shim now has none (-seed 740017).
 *
 * 3. In a fork, messages may come back that only the original has ever sent (-seed 3400002 in Pi).
 */
function mayNotKnow({ chain, outcome, isReloaded, isCopy, hasGood, wasSent, isInLast }: BoundRequest): boolean {
  const comesBack = outcome !== "applied" && chain.blocks.some(({ block }) => wasSent(block.message) && !isInLast(block.message))
  return (outcome === "unchanged" && (isReloaded || (!hasGood && isCopy))) || comesBack
}

export function show(entry: Chain["blocks"][number] | undefined): string {
  return entry ? `${entry.role} ${entry.block.kind}@${entry.block.message} ${excerpt(entry.block.text || entry.block.input)}` : "nothing"
}
