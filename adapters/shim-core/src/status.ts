import { Method, type Harness, type SessionStatus } from "./generated/protocol.ts"
import type { Host } from "./host.ts"

/** The line about a session for the footer of a harness. The host writes it; an older host writes none. */
export function statusLine({ panel }: SessionStatus): string {
  return panel?.line ?? "magicctx"
}

/**
 * How long a question for a status may take, in ms. Nothing waits for the answer, and on a busy machine a host that has
 * just started needs seconds for the first one.
 */
const askMS = 10_000

/** Asks the host for the present status of a session. A new session has none yet. */
export function askStatus(host: Host, harness: Harness, session: string): Promise<SessionStatus> {
  return host.call(Method.SessionStatus, { harness, session }, { timeoutMS: askMS })
}

/**
 * Asks the host, once for each connection, to send the status of a session after each pass and its answer. `followed`
 * holds the sessions for which it has asked already. Returns whether the host was asked now.
 */
export function followStatus(host: Host, harness: Harness, session: string, followed: Set<string>): boolean {
  const key = `${host.generation} ${session}`
  if (followed.has(key)) return false
  followed.add(key)
  host.call(Method.SessionSubscribe, { harness, session }, { timeoutMS: askMS }).catch(() => followed.delete(key))
  return true
}
