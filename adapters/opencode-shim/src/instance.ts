import { asError, Code, Method, Passes, ProtocolMajor, ProtocolMinor, Registrations, RpcError, type Host, type HostCalls, type InitializeResult, type Lease, type Log, type Opening } from "@magicctx/shim-core"
import { handlers } from "./callbacks.ts"
import type { Client, Message, PluginInput } from "./opencode.ts"
import { message } from "./generated/message.ts"
import { Notices } from "./notices.ts"
import { Sessions } from "./sessions.ts"

/** Deadlines of all calls except passes, in ms. */
export const timeoutMS = { hook: 2_000, system: 5_000, command: 10_000, tool: 60_000 } as const

declare const shimVersion: string // defined by the bundler

/** A plugin instance. OpenCode creates one for each directory. */
export class Instance {
  readonly client: Client
  readonly directory: string
  readonly sessions: Sessions
  readonly passes: Passes
  readonly log: Log
  private readonly lease: Lease
  private readonly opening: Opening
  private readonly notices = new Notices((message, duration) => {
    this.client.tui.showToast({ body: { title: "magicctx", message, variant: "warning", duration } }).catch(() => {})
  })
  private readonly registrations = new Registrations(`opencode-shim-${shimVersion}`)
  /** Warnings for OpenCode's log, while OpenCode accepts no calls yet. */
  private unlogged: string[] = []
  /** Notices for the screen, while nobody is known to look at it. */
  private acceptsCalls = false
  /** The reason why the host does not work, as the shim has shown it to the user; undefined while the host works. */
  private trouble: string | undefined
  private mustAskAgain = false
  /** The sessions in which the present episode of trouble has left its mark. */
  private readonly marked = new Set<string>()
  /** Withdraws the marks that still wait for their session, when the episode ends. */
  private episode = new AbortController()
  /** Whether the configuration switches OpenCode's own compaction off. */
  isCompactionOff = false
  private readonly handlers: ReturnType<typeof handlers>
  /** The warnings of the host that the user has seen. */
  private readonly shownWarnings = new Set<string>()

  constructor(input: PluginInput, lease: Lease, log: Log) {
    this.client = input.client
    this.directory = input.directory
    this.log = log
    this.lease = lease
    this.sessions = new Sessions(input.client)
    const format = { projection: message, key: (m: unknown) => (m as Message).info?.id }
    this.passes = new Passes(lease.host, format, log, (failure) => this.passed(failure))
    this.handlers = handlers(input.client, this.sessions)
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
      this.handlers,
    )
  }

  get host(): Host {
    return this.lease.host
  }

  /** The host's answer to initialize, while the host works for this directory. If it is undefined, forward nothing. */
  get enabled(): InitializeResult | undefined {
    const { result } = this.opening
    return result?.enabled ? result : undefined
  }

  /** Whether the host is switched on but cannot work. Then the last good mutation stays in effect. */
  get isInTrouble(): boolean {
    return this.trouble !== undefined
  }

  /**
   * Waits for the host's first answer, tells the user if something is wrong, and returns the answer with the things
   * to register.
   */
  async opened(timeoutMS: number): Promise<InitializeResult | undefined> {
    const result = await this.opening.opened(timeoutMS)
    if (result && !result.enabled && !result.trouble) {
      this.showNotice(`magicctx is off: ${result.reason}.`)
      return undefined
    }
    if (this.enabled) {
      this.works(this.enabled)
      return this.enabled
    }
    const registered = this.registrations.recall(this.directory)
    this.fails(this.cause, registered ? "" : " Its tools and commands are there after the next start of OpenCode.")
    return registered
  }

  /**
   * Leaves a message in a session whose request leaves without the host. A toast is gone after some seconds, and a
   * person who comes back later would not know why the session grows. The model does not receive the message.
   */
  mark(session: string): void {
    const { trouble, episode } = this
    if (trouble === undefined) return
    this.sessions.turnRuns(session)
    if (this.marked.has(session)) return
    this.marked.add(session)
    const text = `magicctx is not working, and has not seen the prompt above: ${trouble}.${this.compactionNotice} To learn more, run: magicctx-host doctor`
    const leave = async () => {
      if (await this.sessions.parent(session)) return // nobody reads the session of a subagent
      await this.handlers[Method.MessageSend]!({ directory: this.directory, session, text, reply: false, ignored: true }, episode.signal)
    }
    leave().catch((err) => episode.signal.aborted || this.log.warn("no mark in the session", { session, cause: asError(err).message }))
  }

  private get compactionNotice(): string {
    return this.isCompactionOff ? " OpenCode's own compaction is off, so nothing keeps your sessions below the model's limit." : ""
  }

  /** Returns the host's settings for the pass that begins; undefined if the host does nothing for this directory. */
  async ready(): Promise<InitializeResult | undefined> {
    const { result } = this.opening
    if (result && !this.mustAskAgain && (result.enabled || !result.trouble)) return this.enabled
    this.mustAskAgain = false
    await this.opening.again()
    if (!this.enabled) this.fails(this.cause)
    return this.enabled
  }

  private get cause(): string {
    return this.opening.refusal ?? this.opening.result?.reason ?? this.host.trouble
  }

  /**
   * Notes the result of a pass. Only a successful pass ends an episode of trouble: a host that dies in every pass
   * would otherwise switch the notice on and off.
   */
  private passed(failure: Error | undefined): void {
    if (!failure) {
      if (this.enabled) this.works(this.enabled)
      return
    }
    this.mustAskAgain = failure instanceof RpcError && failure.code === Code.Disabled
    this.fails(failure.message)
  }

  private works(result: InitializeResult): void {
    for (const warning of result.warnings ?? []) {
      if (this.shownWarnings.has(warning)) continue
      this.shownWarnings.add(warning)
      this.showNotice(warning, false)
    }
    if (this.trouble !== undefined) this.log.info("magicctx works again")
    this.trouble = undefined
    this.marked.clear()
    this.episode.abort()
    this.episode = new AbortController()
    this.registrations.remember(this.directory, result)
  }

  private fails(cause: string, more = ""): void {
    if (this.trouble !== undefined) {
      if (this.trouble !== cause) this.log.warn("magicctx still does not work", { cause })
      return
    }
    this.trouble = cause
    this.showNotice(`magicctx is not working: ${cause}. OpenCode sends your prompts without it. It resumes by itself once the cause is fixed.${more} To learn more, run: magicctx-host doctor`)
  }

  /** Whether the host wants to be called for an optional method. */
  wants(method: keyof HostCalls | typeof Method.Event): boolean {
    return this.enabled?.hooks.includes(method) ?? false
  }

  /** Shows a text to the user, as soon as somebody looks at the screen. */
  private showNotice(text: string, isTrouble = true): void {
    this.warn(text)
    // OpenCode has not told its configuration yet if it is still starting.
    if (isTrouble) this.notices.addTrouble(() => text + this.compactionNotice)
    else this.notices.add(() => text)
  }

  /** Shows the waiting notices. The user has sent a prompt, so somebody looks at the screen. */
  showNotices(): void {
    this.notices.userIsHere()
  }

  /**
   * Writes to OpenCode's log as soon as OpenCode accepts calls. During start-up it does not, because it waits for its
   * plugins.
   */
  warn(text: string): void {
    this.log.warn(text)
    this.unlogged.push(text)
    if (this.acceptsCalls) this.flushWarnings()
  }

  /** Writes the waiting warnings to OpenCode's log. OpenCode calls hooks, so by now it accepts calls. */
  flushWarnings(): void {
    this.acceptsCalls = true
    for (const text of this.unlogged.splice(0)) {
      this.client.app.log({ body: { service: "magicctx", level: "warn", message: text } }).catch(() => {})
    }
  }

  /**
   * Runs the body of a hook. It catches every error, because a hook that throws ends the user's turn. Whatever the
   * body has not changed by then stays as it was.
   */
  async guard(hook: string, body: () => Promise<void> | void): Promise<void> {
    try {
      this.flushWarnings()
      await body()
    } catch (err) {
      this.log.warn("hook failed", { hook, cause: asError(err).message })
    }
  }

  dispose(): void {
    this.episode.abort()
    this.opening.close()
    this.lease.release()
  }
}
