import { ConnectionClosed } from "./connection.ts"
import type { Handlers } from "./directories.ts"
import type { MessageSendParams } from "./generated/protocol.ts"

/** Answers message/send: stores each message, and one with a key only once for each session. */
export function sender(store: (message: MessageSendParams, signal: AbortSignal) => Promise<void>): NonNullable<Handlers["message/send"]> {
  /** Messages with a key, by session and key. */
  const once = new Map<string, Promise<void>>()
  return async (message, signal) => {
    const { session, key } = message
    if (key === undefined) {
      await store(message, signal)
      return {}
    }
    const name = JSON.stringify([session, key])
    let storing = once.get(name)
    if (!storing) {
      once.set(name, (storing = store(message, withdrawal(signal))))
      storing.catch(() => once.delete(name))
    }
    await storing
    return {}
  }
}

/**
 * A signal that a request was withdrawn. It ignores the end of the connection: work that a host decided on before it
 * died goes on, as if the host had not died.
 */
function withdrawal(signal: AbortSignal): AbortSignal {
  const withdrawn = new AbortController()
  signal.addEventListener("abort", () => signal.reason instanceof ConnectionClosed || withdrawn.abort(signal.reason), { once: true })
  return withdrawn.signal
}
