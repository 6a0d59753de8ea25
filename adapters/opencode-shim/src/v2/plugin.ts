import { acquireHost, asError, Host, locateHost, openLog, startHost, within, type Log } from "@magicctx/shim-core"
import { hiddenRuns, lastModels, removeOrphans } from "./agents.ts"
import { compaction } from "./compaction.ts"
import { context, generate, isHidden } from "./context.ts"
import { follow } from "./events.ts"
import { Instance } from "./instance.ts"
import type { PluginContext, Registration, SessionRequest } from "./opencode2.ts"
import { register } from "./tools.ts"

/**
 * How long the first request in a directory waits for the host, in ms. If the host has not answered by then, the
 * request has the tools that the host registered the last time.
 */
const startMS = 2_000
const lookupMS = 2_000

/** The directories in which magicctx already works. The plugins for OpenCode 1 and for OpenCode 2 share this set. */
const working = ((globalThis as Record<symbol, unknown>)[Symbol.for("magicctx.directories")] ??= new Set<string>()) as Set<string>

let log: Log | undefined // the log of the process

/** OpenCode 2 runs no session before this function has ended, so this function does not wait for the host. */
export async function setup(ctx: PluginContext): Promise<() => void> {
  const plugin = new Plugin(ctx, (log ??= openLog("opencode-shim")))
  await plugin.attach()
  return () => plugin.dispose()
}

class Plugin {
  private readonly ctx: PluginContext
  private readonly log: Log
  private readonly stop = new AbortController()
  private instance: Promise<Instance> | undefined

  constructor(ctx: PluginContext, log: Log) {
    this.ctx = ctx
    this.log = log
  }

  /**
   * Registers the hooks of every version of OpenCode 2. This does no harm: a version that does not know the name of a
   * hook accepts the name, and never calls the hook.
   */
  async attach(): Promise<void> {
    const { session, location, plugin } = this.ctx
    if (location) void this.of("", location.directory)
    // The betas have no `location`, but the answer to this call contains the directory.
    else void plugin?.list().then(({ location }) => location && this.of("", location.directory), () => {})
    const hooks: Array<Promise<Registration>> = [
      session.hook("context", (event) => this.guarded("context", async () => {
        if (!isHidden(event)) await context(await this.for(event), event)
      })),
      session.hook("generate", (event) => this.guarded("generate", async () => {
        if (!isHidden(event)) await generate(await this.for(event), event)
      })),
      session.hook("compaction", (event) => this.guarded("compaction", async () => {
        const instance = await this.for(event)
        await instance.guard("compaction", () => compaction(instance, event))
      })),
      session.hook("title", async (event) => {
        if (hiddenRuns.has(event.sessionID)) event.result = "magicctx"
      }),
    ]
    await Promise.all(hooks.map((hook) => hook.catch((err) => this.log.warn("no hook", { cause: asError(err).message }))))
  }

  dispose(): void {
    this.stop.abort()
    void this.instance?.then((instance) => {
      working.delete(instance.directory)
      instance.dispose()
    })
  }

  private for({ sessionID, model }: SessionRequest): Promise<Instance> {
    lastModels.set(sessionID, model)
    return this.of(sessionID)
  }

  private of(sessionID: string, directory?: string): Promise<Instance> {
    return (this.instance ??= this.start(sessionID, directory))
  }

  /** If `known` is missing, as in the betas of OpenCode 2, start uses the directory of the session. */
  private async start(sessionID: string, known?: string): Promise<Instance> {
    const directory = known ?? (await this.directoryOf(sessionID)) ?? process.cwd()
    const lease = acquireHost(() => new Host(() => startHost(locateHost(import.meta.url, process.env, "opencode"), this.log, { harness: "opencode", keepsAlive: false }), this.log))
    const instance = new Instance(this.ctx, directory, lease, this.log)
    working.add(directory)
    void follow(instance, this.stop.signal)
    removeOrphans(this.ctx).catch((err) => this.log.warn("orphaned sessions not removed", { cause: asError(err).message }))
    // The tools must be there in the first request, because adding them later would change the whole prefix. So the
    // tools that the host registered the last time are registered now, before the host has answered.
    register(instance, instance.recall(), true)
    // The first request waits here for the host's current list of tools. If the list came after this request, it would
    // change the prefix of the next one.
    await instance.opened(startMS).then((registered) => register(instance, registered, !instance.enabled), () => {})
    instance.terminal.announce("") // now the commands are known
    return instance
  }

  private async directoryOf(sessionID: string): Promise<string | undefined> {
    try {
      return (await within(lookupMS, this.ctx.session.get({ sessionID })))?.location?.directory
    } catch {
      return undefined
    }
  }

  /** OpenCode ends the turn if a hook throws, so this method never throws. */
  private async guarded(hook: string, body: () => Promise<void>): Promise<void> {
    if (this.stop.signal.aborted) return
    try {
      await body()
    } catch (err) {
      this.log.warn("hook failed", { hook, cause: asError(err).message })
    }
  }
}
