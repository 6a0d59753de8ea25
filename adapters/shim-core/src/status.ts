import { Method, type Harness, type SessionStatus } from "./generated/protocol.ts"
import type { Host } from "./host.ts"

/** The host's line about a session for the footer of a harness. An older host sends no line. */
export function statusLine({ panel }: SessionStatus): string {
  return panel?.line ?? "magicctx"
}

/**
 * The deadline of a question for a status, in ms. Nothing waits for the answer, so the deadline is long: on a busy
 * machine, a host that has just started needs seconds for its first answer.
 */
const askMS = 10_000

/** Asks the host for the present status of a session. A new session has none yet. */
export function askStatus(host: Host, harness: Harness, session: string): Promise<SessionStatus> {
  return host.call(Method.SessionStatus, { harness, session }, { timeoutMS: askMS })
}

/**
 * Asks the host to send the status of a session after each pass and its answer. `followed` stores the sessions, so that
 * the host is asked once for each connection. Returns true if the host was asked now.
 */
export function followStatus(host: Host, harness: Harness, session: string, followed: Set<string>): boolean {
  const key = `${host.generation} ${session}`
  if (followed.has(key)) return false
  followed.add(key)
  host.call(Method.SessionSubscribe, { harness, session }, { timeoutMS: askMS }).catch(() => followed.delete(key))
  return true
}
