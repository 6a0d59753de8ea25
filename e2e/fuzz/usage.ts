import type { Verdict } from "./judge.ts"
import type { Clock, Session } from "./opencode.ts"
import { isHead } from "./rules.ts"
import { shared, tokensOf, type Chain, type Model } from "./provider.ts"

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

/** The sizes, in bytes, of the largest placeholder and of the largest call whose arguments the host does not shorten. */
const [placeholder, shortCall] = [230, 600]

/**
 * The size of everything that the host cannot remove: system prompt, tools, head, thinking, the user's newest prompt,
 * the texts of the newest step, and calls without a result. The host can replace all other content with a placeholder
 * or with short arguments. So the provider may refuse the prompt only if this size exceeds the window.
 */
export function floor(session: Session, { chain }: Verdict, scale: number): number {
  const parts = new Map(session.rows.flatMap(({ message }) => message.parts.map((part) => [part.id, part])))
  const prompt = session.rows.findLast(({ message: { info, parts } }) => info.role === "user" && parts.some((part) => part.type === "text" && !part.synthetic && !part.ignored))
  const step = chain.blocks.findLast(({ role }) => role === "assistant")?.block.message
  let bytes = chain.bytes
  for (const { block, bytes: its } of chain.blocks) {
    const part = parts.get(block.part)
    // OpenCode sends another provider's thinking as a text. The host cannot remove this text alone (-seed 2400416).
    if (block.kind === "thinking" || part?.type === "reasoning" || isHead(block.message)) continue
    if (block.message === prompt?.id && !part?.synthetic) continue
    if (block.message === step && block.kind === "text") continue
    if (block.kind === "call" && part?.state?.status !== "completed" && part?.state?.status !== "error") continue
    bytes -= Math.max(0, its - (block.kind === "call" ? shortCall : placeholder))
  }
  return tokensOf(bytes, scale)
}
