import type { Pass } from "./journal.ts"
import { before, shared, type Block, type Chain, type Turn } from "./provider.ts"
import { excerpt, outline } from "./rules.ts"

/** Thinking is bound to the digest of the prompt before the block, and to the request that it answered. */
export interface Bound {
  digest: bigint
  chain: Chain
  /** The same digest for the raw array. It shows whether OpenCode itself has invalidated the thinking. */
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
  /** Whether a message was ever sent, by this session or by its original. */
  wasSent: (message: string) => boolean
  isInLast: (message: string) => boolean
}

/** The provider of a binding model checks each thinking block against the prompt before it. */
export class Bindings {
  /** The bindings of thinking blocks, by signature. The sessions of a world share them. */
  private readonly bound: Map<string, Bound>
  private readonly lost = new Set<string>()
  private readonly report: (rule: string, detail: string) => void

  constructor(bound: Map<string, Bound>, report: (rule: string, detail: string) => void) {
    this.bound = bound
    this.report = report
  }

  /**
   * Records that the host's database is gone. If the binding of a message is not stored, the host treats the message's
   * thinking as lost.
   */
  databaseLost(): void {
    for (const bound of this.bound.values()) bound.isKnown = false
  }

  /**
   * If the original of a copy has lost thinking, the copy does not send it, even if the prompt before the thinking is
   * the old one again. For example, the original had switched to another agent and so lost all thinking (-seed 100167).
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
      // OpenCode itself may invalidate thinking, for example when a reminder moves to another message. Only the
      // host could repair that.
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
    // After a change of the model or the agent, the host treats all thinking as invalid. If only the newest
    // answer has thinking, its removal changes no part of the last request. So this pass is not a bust.
    const isNewPreamble = passes.some(({ cause }) => cause === "preamble-changed" || cause === "model-changed")
    // A fork has no wire before its first pass. Under pressure, this pass drops content that the original has
    // sent, and the journal does not call that a bust (-seed 200461).
    const isFirstOfFork = !hasGood && isCopy && passes.some(({ verdict }) => verdict !== "steady")
    // The first request after the loss of the database may be sent with a repeated system prompt. Its answer is
    // then bound to a prompt that the host does not know (-seed 3001).
    const isAfterLoss = hasLostDatabase && passes.some(({ pass }) => pass <= 2)
    for (const { blocks } of raw) {
      for (const [i, block] of blocks.entries()) {
        if (block.kind !== "thinking" || sent.has(block.signature) || this.lost.has(block.signature)) continue
        // Whether a later block of an answer is valid depends on the blocks before it. So only the first block
        // is checked.
        const opens = blocks[i - 1]?.message !== block.message
        const isValid = opens && this.bound.get(block.signature)?.isKnown && this.bound.get(block.signature)?.digest === starts.get(block.message)
        if (isValid && !isBust && !isNewPreamble && !isFirstOfFork && !isAfterLoss && isGood) this.report("binding-lost", `thinking of ${block.message} is valid and is not sent, on a pass that busts nothing: ${outline(raw.slice(-2))}`)
        this.lost.add(block.signature)
      }
    }
  }
}

/**
 * A newly loaded shim has no patches. Without a host it can only send OpenCode's own array, whose thinking is bound to
 * the prompts that were sent before. The same holds for the first request of a fork (-seed 5000005). Messages may come
 * back with their branch while there is no host. Then the shim does not have their patches: the host made it forget
 * them when the messages disappeared (-seed 740017). In a fork, only the original may have sent the returning messages
 * (-seed 3400002 in Pi).
 */
function mayNotKnow({ chain, outcome, isReloaded, isCopy, hasGood, wasSent, isInLast }: BoundRequest): boolean {
  const comesBack = outcome !== "applied" && chain.blocks.some(({ block }) => wasSent(block.message) && !isInLast(block.message))
  return (outcome === "unchanged" && (isReloaded || (!hasGood && isCopy))) || comesBack
}

export function show(entry: Chain["blocks"][number] | undefined): string {
  return entry ? `${entry.role} ${entry.block.kind}@${entry.block.message} ${excerpt(entry.block.text || entry.block.input)}` : "nothing"
}
