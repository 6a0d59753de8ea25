import { acquireHost, Host, locateHost, openLog, startHost, within, type Lease, type Log } from "@magicctx/shim-core"
import { Instance } from "./instance.ts"

declare const shimVersion: string // defined by the bundler

/**
 * When Pi quits, the shim waits graceMS for the host to end, and then kills it. Pi itself waits at most endMS for this.
 */
const graceMS = 1_500
const endMS = 2_000

/**
 * The objects that all sessions of a process share. They are not variables of the module, because Pi loads the module
 * again at a reload, and Pi 0.74 even for each session.
 */
interface Home {
  readonly version: string
  readonly lease: Lease
  readonly log: Log
  readonly instances: Map<string, Instance>
}

const place = Symbol.for("magicctx.pi")
const everywhere = globalThis as unknown as Record<symbol, Home | undefined>

export function instanceOf(directory: string): Instance {
  const { instances, lease, log } = home()
  const instance = instances.get(directory) ?? new Instance(directory, lease, log)
  instances.set(directory, instance)
  return instance
}

function home(): Home {
  const old = everywhere[place]
  if (old?.version === shimVersion) return old
  const log = openLog("pi-shim")
  const options = { harness: "pi", keepsAlive: true } as const
  const lease = acquireHost(() => new Host(() => startHost(locateHost(import.meta.url, process.env, "pi"), log, options), log))
  // After an update of the extension and a reload, the new code cannot use the objects of the old code. So it disposes
  // the old instances and creates new objects.
  for (const instance of old?.instances.values() ?? []) instance.dispose()
  return (everywhere[place] = { version: shimVersion, lease, log, instances: new Map() })
}

/** Ends all instances and the host. Pi waits for this function before it quits, so the wait has a limit. */
export async function leaveHome(): Promise<void> {
  const home = everywhere[place]
  if (!home) return
  delete everywhere[place]
  for (const instance of home.instances.values()) instance.dispose()
  await within(endMS, home.lease.end(graceMS))
}
