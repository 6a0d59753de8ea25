// Facts about the thinking in the raw array. A proof is what shows the provider that a text is the model's own
// thinking: a signature, redacted data or encrypted content.
import type { Message, Part } from "./opencode.ts"

export interface Evidence {
  /**
   * Whether the model's thinking is bound. A request may leave bound thinking out. But if it sends the thinking, the
   * prompt before it must be unchanged.
   */
  binds: boolean
  /** For each proof, the texts of thinking to which the model gave this proof. */
  proofs: Map<string, Set<string>>
  /** For each sequence of thinking blocks that directly follow each other, their proofs. */
  runs: string[][]
  /** For each call, by its id, the proofs in the answer that made the call. */
  ofCall: Map<string, string[]>
  /** The text at which the host has set a breakpoint. */
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
