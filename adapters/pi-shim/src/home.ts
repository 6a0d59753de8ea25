import { acquireHost, Host, locateHost, openLog, startHost, within, type Lease, type Log } from "@magicctx/shim-core"
import { Instance } from "./instance.ts"

declare const shimVersion: string // defined by the bundler

/** How long the host may take to end when Pi quits, in ms. Then it is killed. */
const graceMS = 1_500
/** How long Pi waits for the host to end before it exits, in ms. */
const endMS = 2_000

/**
 * The objects that outlive Pi's sessions in this process. Pi calls the extension again for each session, and loads its
 * module again at a reload (in 0.74 for each session), so module variables would be lost.
 */
interface Home {
  readonly version: string
  readonly lease: Lease
  readonly log: Log
  readonly instances: Map<string, Instance>
}

const place = Symbol.for("magicctx.pi")
const everywhere = globalThis as unknown as Record<symbol, Home | undefined>

/** Returns the instance of a directory. If there is none, creates it and starts the host. */
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
  // The bundle was updated, and Pi has reloaded it. The new bundle cannot use the objects of the old one.
  for (const instance of old?.instances.values() ?? []) instance.dispose()
  return (everywhere[place] = { version: shimVersion, lease, log, instances: new Map() })
}

/** Ends the host, and waits only a limited time for its end, because Pi cannot quit earlier. */
export async function leaveHome(): Promise<void> {
  const home = everywhere[place]
  if (!home) return
  delete everywhere[place]
  for (const instance of home.instances.values()) instance.dispose()
  await within(endMS, home.lease.end(graceMS))
}
