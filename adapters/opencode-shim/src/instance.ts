import { asError, Method, Passes, ProtocolMajor, ProtocolMinor, type Host, type HostCalls, type InitializeResult, type Lease, type Log, type Opening } from "@magicctx/shim-core"
import { handlers } from "./callbacks.ts"
import type { Client, Message, PluginInput } from "./opencode.ts"
import { message } from "./projection.ts"
import { Sessions } from "./sessions.ts"

/** Deadlines of the calls that are no pass, ms. */
export const timeoutMS = { hook: 2_000, system: 5_000, command: 10_000, tool: 60_000 } as const

declare const shimVersion: string // the bundler's

/** One plugin instance: OpenCode has one for each directory. */
export class Instance {
  readonly client: Client
  readonly directory: string
  readonly sessions: Sessions
  readonly passes: Passes
  readonly log: Log
  private readonly lease: Lease
  private readonly opening: Opening
  private unsaid: string[] = []
  private maySpeak = false

  constructor(input: PluginInput, lease: Lease, log: Log) {
    this.client = input.client
    this.directory = input.directory
    this.log = log
    this.lease = lease
    this.sessions = new Sessions(input.client)
    const format = { projection: message, key: (m: unknown) => (m as Message).info?.id }
    this.passes = new Passes(lease.host, format, log)
    this.opening = lease.host.open(
      {
        protocol: { major: ProtocolMajor, minor: ProtocolMinor },
        client: "opencode-shim",
        clientVersion: shimVersion,
        harness: "opencode",
        pid: process.pid,
        directory: input.directory,
        worktree: input.worktree,
      },
      handlers(this),
    )
  }

  get host(): Host {
    return this.lease.host
  }

  /** What the host said at initialize while it works for this directory; undefined means: pass everything through. */
  get enabled(): InitializeResult | undefined {
    const { result } = this.opening
    return result?.enabled ? result : undefined
  }

  /** Waits for the host's first answer, and tells the user what is wrong with it. */
  async opened(timeoutMS: number): Promise<InitializeResult | undefined> {
    const result = await this.opening.opened(timeoutMS)
    if (!result) {
      const why = this.opening.refusal ?? this.host.trouble
      this.warn(`magicctx does nothing here, and its tools and commands are missing until OpenCode restarts: ${why}`)
    } else if (!result.enabled) {
      this.warn(`magicctx is off: ${result.reason}`)
    }
    for (const warning of result?.warnings ?? []) this.warn(warning)
    return this.enabled
  }

  /** Whether the host wants to be called for an optional method. */
  wants(method: keyof HostCalls | typeof Method.Event): boolean {
    return this.enabled?.hooks.includes(method) ?? false
  }

  /** Tells the user's log, as soon as OpenCode takes calls: during start-up it waits for its plugins. */
  warn(text: string): void {
    this.log.warn(text)
    this.unsaid.push(text)
    if (this.maySpeak) this.speak()
  }

  /** OpenCode calls hooks, so it takes calls. */
  speak(): void {
    this.maySpeak = true
    for (const text of this.unsaid.splice(0)) {
      this.client.app.log({ body: { service: "magicctx", level: "warn", message: text } }).catch(() => {})
    }
  }

  /**
   * Runs the body of a hook. A hook that throws kills the user's turn, so none
   * does: what the body did not get to change stays as it was.
   */
  async guard(hook: string, body: () => Promise<void> | void): Promise<void> {
    try {
      this.speak()
      await body()
    } catch (err) {
      this.log.warn("hook failed", { hook, cause: asError(err).message })
    }
  }

  dispose(): void {
    this.opening.close()
    this.lease.release()
  }
}
