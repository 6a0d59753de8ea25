// A session was recorded with one provider, and the judge can check it against the rules of a second provider. To make
// this possible, translate rewrites the proofs of thinking, for example signatures, in the form that the second
// provider's package reads.
import type { Message, Part } from "./opencode.ts"
import { namespaceOf } from "./opencode.ts"

type Options = Record<string, unknown>

/**
 * Converts the proofs in both arrays to the form that a provider's npm package reads. `npm` is the name of this
 * package.
 */
export function translate(raw: Message[], wire: Message[], npm: string): { raw: Message[]; wire: Message[] } {
  const namespace = npm === "@ai-sdk/gateway" ? "anthropic" : namespaceOf(npm)
  const form = namespace && forms[namespace]
  if (!namespace || !form) return { raw, wire }
  const renewed = new Map<string, Options>()
  const originals = raw.map((m) => {
    if (m.info.role !== "assistant") return m
    let isNew = false
    let signature: string | undefined
    const parts = m.parts.map((p) => {
      if (namespace === "google" && p.type === "tool" && signature && !p.metadata) {
        // Gemini puts its signature on the first call of a step, and not on the thoughts. So the signature of the
        // thoughts moves to this call.
        const signed = { ...p, metadata: { google: { thoughtSignature: signature } } }
        signature = undefined
        renewed.set(identity(m, p), signed.metadata)
        return signed
      }
      const proof = p.type === "reasoning" && p.metadata && !(namespace in p.metadata) ? proofOf(p.metadata) : undefined
      if (!proof) return p
      isNew = true
      signature ??= proof.signature
      const metadata = { [namespace]: form(proof) }
      renewed.set(identity(m, p), metadata)
      return { ...p, metadata }
    })
    return isNew ? { ...m, parts } : m
  })
  if (renewed.size === 0) return { raw, wire }
  const rewritten = wire.map((m) => {
    if (m.info.role !== "assistant" || !m.parts.some((p) => renewed.has(identity(m, p)))) return m
    return { ...m, parts: m.parts.map((p) => ({ ...p, metadata: renewed.get(identity(m, p)) ?? p.metadata })) as Part[] }
  })
  return { raw: originals, wire: rewritten }
}

const identity = (m: Message, p: Part): string => `${m.info.id}\n${p.id ?? p.callID ?? ""}`

interface Proof {
  signature?: string
  redacted?: string
}

function proofOf(metadata: Options): Proof | undefined {
  for (const value of Object.values(metadata)) {
    const o = value as Record<string, string | undefined> | null
    if (typeof o !== "object" || o === null) continue
    const signature = o.signature ?? o.reasoningEncryptedContent ?? o.thoughtSignature
    if (signature) return { signature }
    const redacted = o.redactedData ?? o.redactedContent
    if (redacted) return { redacted }
  }
  return undefined
}

const forms: Record<string, (p: Proof) => Options> = {
  anthropic: (p) => (p.redacted ? { redactedData: p.redacted } : { signature: p.signature }),
  bedrock: (p) => (p.redacted ? { redactedData: p.redacted } : { signature: p.signature }),
  openai: (p) => ({ itemId: `rs_${p.signature ?? p.redacted}`, reasoningEncryptedContent: p.signature ?? p.redacted }),
  google: (p) => ({ thoughtSignature: p.signature ?? p.redacted }),
}
