// Facts about the thinking in the raw array. A proof shows the provider that a text is the model's own thinking. It is
// a signature, redacted data or encrypted content.
import type { Message, Part } from "./opencode.ts"

export interface Evidence {
  /**
   * Whether the model's thinking is bound. A request may leave bound thinking out. But if it sends the thinking, the
   * prompt before it must be unchanged.
   */
  binds: boolean
  /** Maps each proof to the thinking texts that the model sent with it. */
  proofs: Map<string, Set<string>>
  /**
   * The proofs of thinking blocks that directly follow each other: one list for each such sequence of at least two
   * blocks.
   */
  runs: string[][]
  /** Maps the id of each call to the proofs in the answer that made the call. */
  ofCall: Map<string, string[]>
  /** The text on which the host has set a cache breakpoint, if there is one. */
  marked?: string | undefined
}

export function evidenceOf(raw: Message[], binds: boolean): Evidence {
  const e: Evidence = { binds, proofs: new Map(), runs: [], ofCall: new Map() }
  for (const m of raw) {
    if (m.info.role !== "assistant") continue
    const all: string[] = []
    let run: string[] = []
    for (const p of m.parts) {
      const proofs = proofsOf(p)
      for (const proof of proofs) {
        const texts = e.proofs.get(proof) ?? new Set()
        e.proofs.set(proof, texts.add(p.text ?? ""))
      }
      const [proof] = proofs
      if (p.type === "reasoning" && proof) {
        all.push(proof)
        run.push(proof)
      } else if (p.type !== "reasoning" || p.text) { // thinking without proof and without text is never sent
        if (run.length > 1) e.runs.push(run)
        run = []
      }
      if (p.type === "tool" && p.callID) e.ofCall.set(p.callID, all)
    }
    if (run.length > 1) e.runs.push(run)
  }
  return e
}

function proofsOf(p: Part): string[] {
  return Object.values(p.metadata ?? {}).flatMap((options) => {
    if (typeof options !== "object" || options === null) return []
    const o = options as Record<string, unknown>
    return [o.signature, o.redactedData, o.redactedContent, o.reasoningEncryptedContent, o.thoughtSignature].filter((x): x is string => typeof x === "string")
  })
}
