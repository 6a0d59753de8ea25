import { Method, type Harness, type SessionStatus } from "./generated/protocol.ts"
import type { Host } from "./host.ts"

/**
 * The line about a session for the footer of a harness, for example "magicctx 45% of 200k · cache 93% · 5 to drop ·
 * last bust: threshold". It fits into 80 columns.
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

/** How long a question for a status may take, in ms. */
const askMS = 2_000

/** Asks the host for the present status of a session. A new session has none yet. */
export function askStatus(host: Host, harness: Harness, session: string): Promise<SessionStatus> {
  return host.call(Method.SessionStatus, { harness, session }, { timeoutMS: askMS })
}

/**
 * Asks the host, once for each connection, to send the status of a session after each pass and its answer. The set
 * holds what was asked before.
 */
export function followStatus(host: Host, harness: Harness, session: string, followed: Set<string>): void {
  const key = `${host.generation} ${session}`
  if (followed.has(key)) return
  followed.add(key)
  host.call(Method.SessionSubscribe, { harness, session }, { timeoutMS: askMS }).catch(() => followed.delete(key))
}
