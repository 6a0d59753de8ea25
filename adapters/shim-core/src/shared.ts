import { ProtocolMajor } from "./generated/protocol.ts"
import type { Host } from "./host.ts"

/**
 * How long the host keeps running after the last plugin has released it, in ms. A harness may dispose a plugin and
 * create it again at once. The new plugin then finds the same host.
 */
const defaultLingerMS = 2000

/** The right of one plugin to use the host of this process. */
export interface Lease {
  readonly host: Host
  /** Gives up this right. Further calls do nothing. */
  release(): void
  /**
   * Stops the host for all plugins of this process, because the process is about to end. Resolves when the bridge has
   * ended.
   */
  end(graceMS?: number): Promise<void>
}

interface Shared {
  host: Host
  users: number
  linger: NodeJS.Timeout | undefined
}

// A harness may load the bundle several times. All copies find the same host under this symbol.
const place = Symbol.for(`magicctx.host/${ProtocolMajor}`)
const everywhere = globalThis as unknown as Record<symbol, Shared | undefined>

/** Returns a lease on the only host of this process, and creates this host if it does not exist yet. */
export function acquireHost(create: () => Host, lingerMS = defaultLingerMS): Lease {
  const shared = (everywhere[place] ??= { host: create(), users: 0, linger: undefined })
  clearTimeout(shared.linger)
  shared.users++
  let released = false
  return {
    host: shared.host,
    release() {
      if (released) return
      released = true
      if (--shared.users > 0 || everywhere[place] !== shared) return
      shared.linger = setTimeout(() => {
        delete everywhere[place]
        void shared.host.stop()
      }, lingerMS)
      shared.linger.unref()
    },
    async end(graceMS) {
      released = true
      clearTimeout(shared.linger)
      if (everywhere[place] === shared) delete everywhere[place]
      await shared.host.stop(graceMS)
    },
  }
}
