import { acquireHost, Host, locateHost, openLog, startHost, within, type Lease, type Log } from "@magicctx/shim-core"
import { Instance } from "./instance.ts"

declare const shimVersion: string // defined by the bundler

/** The host may take this long to end when Pi quits, in ms, and is then killed. */
const graceMS = 1_500
const endMS = 2_000

/**
 * These objects outlive Pi's sessions in this process. Pi loads the extension's module again at a reload (0.74: for
 * each session), so module variables would be lost.
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
  // After an update and a reload, the new bundle cannot use the objects of the old one.
  for (const instance of old?.instances.values() ?? []) instance.dispose()
  return (everywhere[place] = { version: shimVersion, lease, log, instances: new Map() })
}

/** Pi cannot quit earlier, so the wait for the host's end has a limit. */
export async function leaveHome(): Promise<void> {
  const home = everywhere[place]
  if (!home) return
  delete everywhere[place]
  for (const instance of home.instances.values()) instance.dispose()
  await within(endMS, home.lease.end(graceMS))
}
