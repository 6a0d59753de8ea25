import { AgentRuns, Method, PluginInstance, within, type Handlers, type Lease, type Log, type PassOf } from "@magicctx/shim-core"
import { runAgent } from "./agents.ts"
import { Catalogue } from "./catalogue.ts"
import { Facts } from "./facts.ts"
import { step } from "./generated/step.ts"
import type { PluginContext, Registration } from "./opencode2.ts"
import type { Step } from "./steps.ts"
import { Terminal } from "./terminal.ts"

declare const shimVersion: string // defined by the bundler

const facts = {
  name: "opencode2",
  title: "OpenCode",
  shim: "opencode-shim",
  version: shimVersion,
  format: { projection: step, key: (one: unknown) => (one as Step).id },
} as const

type Origin = Pick<PassOf, "parent" | "original">

const lookupMS = 1_000

/** OpenCode 2 serves all directories in one process, and creates one instance of the plugin for each directory. */
export class Instance extends PluginInstance {
  readonly ctx: PluginContext
  readonly facts: Facts
  readonly catalogue: Catalogue
  readonly terminal: Terminal
  /**
   * Sessions whose last request may not have reached the provider: OpenCode has called the hook for the request, but
   * has not sent the event session.step.started yet. If OpenCode calls the hook again before that event, for example
   * for a retry, the shim must not tell the host that the provider has received the host's wire.
   */
  readonly unsent = new Set<string>()
  protected override readonly noticeAtStart = " Its tools are there as soon as it works."
  /**
   * The tools that are registered with OpenCode now. `text` contains them as JSON. At first, the shim registers the
   * tools that it remembers from an earlier start. When the host has sent its tools, the shim registers these instead,
   * and sets `isSettled`.
   */
  readonly tools = { text: "[]", registration: Promise.resolve() as Promise<Registration | void>, isSettled: false }
  private readonly runs: AgentRuns
  /** For each session, the promise of its newest hook. It never rejects. */
  private readonly newest = new Map<string, Promise<unknown>>()
  private readonly origins = new Map<string, Origin>()

  constructor(ctx: PluginContext, directory: string, lease: Lease, log: Log) {
    const catalogue = new Catalogue(ctx)
    const runs = new AgentRuns((params, signal) => runAgent(ctx, params, signal))
    const screen: Handlers = {
      [Method.NotifyShow]: async ({ directory: _, ...notice }) => {
        this.terminal.notify({ isTrouble: false, ...notice })
        return {}
      },
      [Method.SessionChanged]: (status) => this.terminal.changed(status),
    }
    super(facts, { directory }, lease, log, { ...catalogue.handlers, ...runs.handlers, ...screen })
    this.ctx = ctx
    this.facts = new Facts(ctx.session)
    this.catalogue = catalogue
    this.runs = runs
    this.terminal = new Terminal(this)
  }

  override dispose(): void {
    this.runs.stop()
    void this.terminal.dispose().catch(() => {})
    super.dispose()
  }

  async origin(session: string): Promise<Origin> {
    const known = this.origins.get(session)
    if (known) return known
    const info = await within(lookupMS, this.ctx.session.get({ sessionID: session }))
    const [parent, original] = [info?.parentID, info?.fork?.sessionID]
    const origin = { ...(parent && { parent }), ...(original && { original }) }
    if (info) this.origins.set(session, origin)
    return origin
  }

  /**
   * Runs `work` after all earlier work of the session has ended. Otherwise two hooks of a session could run at the same
   * time: after an interrupt, OpenCode calls the next hook without waiting for the running one.
   */
  inOrder<T>(session: string, work: () => Promise<T>): Promise<T> {
    const last = (this.newest.get(session) ?? Promise.resolve()).then(work)
    const done = last.catch(() => {}).then(() => {
      if (this.newest.get(session) === done) this.newest.delete(session)
    })
    this.newest.set(session, done)
    return last
  }

  forget(session: string): void {
    this.passes.forget(session)
    this.systems.forget(session)
    this.facts.forget(session)
    this.terminal.forget(session)
    this.origins.delete(session)
    this.unsent.delete(session)
  }

  protected override tell(message: string, isTrouble: boolean): void {
    this.log.warn(message)
    this.terminal.notify({ title: "magicctx", message, variant: "warning", isTrouble })
  }

  protected override recovered(): void {
    this.terminal.announce("")
  }

  protected override linked(): void {
    this.terminal.linked()
  }
}
