import type { SessionStatus } from "@magicctx/shim-core"

/**
 * The line under Pi's footer, for example "magicctx 45% of 200k · cache 93% · 5 to drop · last bust: threshold". It
 * fits into 80 columns.
 */
export function statusLine(status: SessionStatus): string {
  const { pressure, contextTokens, cacheHitRate, queued, lastBust } = status
  const words = [`magicctx ${percent(pressure)}${contextTokens > 0 ? ` of ${short(contextTokens)}` : ""}`]
  if (cacheHitRate) words.push(`cache ${percent(cacheHitRate)}`)
  if (queued > 0) words.push(`${queued} to drop`)
  if (lastBust) words.push(`last bust: ${lastBust.words}`)
  const line = words.join(" · ")
  return line.length <= widest ? line : line.slice(0, widest - 1) + "…"
}

const widest = 80

function percent(share: number): string {
  return `${Math.round(share * 100)}%`
}

/** A number of tokens in at most four characters, for example "200k" or "1M". */
function short(tokens: number): string {
  if (tokens < 1000) return String(tokens)
  return tokens < 999_500 ? `${Math.round(tokens / 1000)}k` : `${Number((tokens / 1e6).toFixed(1))}M`
}
