import type { CatalogueModel, Entry, SessionContext } from "./opencode2.ts"

/** OpenCode requests an answer of at most this many tokens, even if the model allows more. */
const longestAnswer = 256_000
/** Text of any language has at least this many bytes per token. */
const bytesPerToken = 3
const mediaTokens = 2_000

/**
 * Returns a higher token limit for the answer than OpenCode has set, if there is room. OpenCode set its limit before
 * the pass, when the prompt was longer, so the limit may be lower than necessary.
 */
export function raised({ options, system, tools }: SessionContext, messages: readonly Entry[], limit: CatalogueModel["limit"]): number | undefined {
  const preset = options?.maxTokens
  if (preset === undefined || !limit?.output || !limit.context) return undefined
  const wanted = Math.min(limit.output, longestAnswer)
  if (preset >= wanted) return undefined
  const room = limit.context - sizeOf([system, messages, tools])
  const possible = Math.min(wanted, room)
  return possible > preset ? possible : undefined
}

/** An upper bound, in tokens. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.startsWith("data:") ? mediaTokens : Math.ceil(Buffer.byteLength(value) / bytesPerToken)
  if (value instanceof Uint8Array) return mediaTokens
  if (typeof value !== "object" || value === null) return 1
  const part = value as { type?: string; media?: unknown }
  if (part.type === "media") return mediaTokens
  let tokens = 1
  for (const [name, member] of Object.entries(value)) tokens += (Array.isArray(value) ? 0 : Math.ceil(name.length / bytesPerToken)) + sizeOf(member)
  return tokens
}
