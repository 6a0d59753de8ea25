import { Method, type Harness, type SessionStatus } from "./generated/protocol.ts"
import type { Host } from "./host.ts"

/** The host's line about a session for the footer of a harness. An older host sends no line. */
export function statusLine({ panel }: SessionStatus): string {
  return panel?.line ?? "magicctx"
}

/**
 * How long the shim waits for the host's answer about a status, in ms. The timeout is long, because nothing in the
 * harness waits for this answer. On a busy machine, a host that has just started needs seconds for its first answer.
 */
const askMS = 10_000

/** Asks the host for the present status of a session. A new session has none yet. */
export function askStatus(host: Host, harness: Harness, session: string): Promise<SessionStatus> {
  return host.call(Method.SessionStatus, { harness, session }, { timeoutMS: askMS })
}

/**
 * Asks the host to send the status of a session after each pass and after its answer. `followed` contains the sessions
 * for which the shim has already asked on this connection, because it asks only once for each. Returns true if it asked
 * now.
 */
export function followStatus(host: Host, harness: Harness, session: string, followed: Set<string>): boolean {
  const key = `${host.generation} ${session}`
  if (followed.has(key)) return false
  followed.add(key)
  host.call(Method.SessionSubscribe, { harness, session }, { timeoutMS: askMS }).catch(() => followed.delete(key))
  return true
}
