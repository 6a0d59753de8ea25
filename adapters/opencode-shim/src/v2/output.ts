import type { CatalogueModel, Entry, SessionContext } from "./opencode2.ts"

/** The longest answer that OpenCode requests, in tokens, even if the model allows a longer one. */
const longestAnswer = 256_000
/** Text of any language has at least this many bytes per token. */
const bytesPerToken = 3
const mediaTokens = 2_000

/**
 * Returns the length of the answer that a request may ask for after a pass has freed room. OpenCode's own value fits
 * only the room before the pass. Undefined if that value can stay.
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

/** An upper bound of the tokens of a value. */
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
