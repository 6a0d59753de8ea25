import type { Verdict } from "./judge.ts"
import type { Clock, Session } from "./opencode.ts"
import { isHead } from "./rules.ts"
import { shared, tokensOf, type Chain, type Model } from "./provider.ts"

/** The prompt caches of a provider, one for each model. */
export class Caches {
  private readonly clock: Clock
  private readonly scale: number
  /** By model, the prompt that the provider saw last. */
  private readonly cached = new Map<Model, { chain: Chain; at: number }>()

  /** scale is the same factor as in tokensOf. */
  constructor(clock: Clock, scale: number) {
    this.clock = clock
    this.scale = scale
  }

  /** Returns the usage of a request, and caches its prompt. */
  use(model: Model, { chain, tokens }: Verdict): { input: number; read: number; write: number } {
    const last = this.cached.get(model)
    let read = 0
    if (last && this.clock.now() - last.at <= model.cacheMS) {
      const same = shared(last.chain, chain)
      const rest = chain.blocks.slice(Math.max(0, same)).reduce((sum, { bytes }) => sum + bytes, 0)
      if (same >= 0) read = Math.max(0, tokens - tokensOf(rest, this.scale))
    }
    this.cached.set(model, { chain, at: this.clock.now() })
    const fresh = tokens - read
    return model.cost.cache.write > 0 ? { input: 3, read, write: Math.max(0, fresh - 3) } : { input: fresh, read, write: 0 }
  }
}

/**
 * Roughly the part of a prompt that the host cannot drop: the newest calls and messages, and the placeholders of
 * the others.
 */
export function floor(session: Session, { chain }: Verdict, scale: number): number {
  const { rows } = session
  const newestUser = session.newestUser()!.id
  // A refused answer is a row of the session, but never in a request. After dozens of them, the newest 24 rows would
  // hold hardly any message that the host protects (-seed 175).
  const sent = [...new Set(chain.blocks.map(({ block }) => block.message))]
  const kept = new Set(sent.slice(-24)).add(newestUser)
  const calls = chain.blocks.filter(({ block }) => block.kind === "call").slice(-6).map(({ block }) => block.id)
  let bytes = chain.bytes
  for (const { block, bytes: its } of chain.blocks) {
    const isCall = block.kind === "result" || block.kind === "call"
    if (isCall && !calls.includes(block.id) && block.message !== rows.at(-1)!.id) bytes -= Math.max(0, its - 200)
    // If an answer stays, its signed thinking stays, too.
    const isSigned = block.kind === "thinking" && block.signature !== ""
    if (!isCall && !isSigned && !kept.has(block.message) && !isHead(block.message)) bytes -= Math.max(0, its - 40)
  }
  return tokensOf(bytes, scale)
}
