import { AgentRuns, asError, PluginInstance, within, type Lease, type Log } from "@magicctx/shim-core"
import { removeOrphans, runAgent } from "./agents.ts"
import { handlers, store } from "./callbacks.ts"
import type { Client, Message, PluginInput } from "./opencode.ts"
import { message } from "./generated/message.ts"
import { Notices } from "../notices.ts"
import { Sessions } from "./sessions.ts"

declare const shimVersion: string // defined by the bundler

const facts = {
  name: "opencode",
  title: "OpenCode",
  shim: "opencode-shim",
  version: shimVersion,
  format: { projection: message, key: (m: unknown) => (m as Message).info?.id },
} as const

const leaveMS = 5_000

/** OpenCode creates an instance for each directory. */
export class Instance extends PluginInstance {
  readonly client: Client
  readonly sessions: Sessions
  protected override readonly noticeAtStart = " Its tools and commands are there after the next start of OpenCode."
  isCompactionOff = false
  private readonly runs: AgentRuns
  private readonly notices = new Notices((message, duration) => {
    this.client.tui.showToast({ body: { title: "magicctx", message, variant: "warning", duration } }).catch(() => {})
  })
  /** Warnings that wait until OpenCode accepts calls and can log them. */
  private unlogged: string[] = []
  private acceptsCalls = false

  constructor(input: PluginInput, lease: Lease, log: Log) {
    const sessions = new Sessions(input.client)
    const runs = new AgentRuns((params, signal) => runAgent(input.client, sessions, params, signal))
    super(facts, input, lease, log, { ...handlers(input.client), ...runs.handlers })
    this.client = input.client
    this.sessions = sessions
    this.runs = runs
  }

  override dispose(): void {
    this.runs.stop()
    super.dispose()
  }

  /**
   * If the host does not work, stores a message in the session that tells the user so. The model does not receive this
   * message. A toast is not enough: it disappears, so a person who comes back later would not know why the session
   * grows.
   */
  mark(session: string): void {
    if (!this.isInTrouble) return
    this.sessions.turnRuns(session)
    const found = this.oncePerEpisode(session)
    if (!found) return
    const { trouble, signal } = found
    const text = `magicctx is not working, and has not seen the prompt above: ${trouble}.${this.compactionNotice(" ")} ${this.learnMore}`
    const leave = async () => {
      if (await this.sessions.parent(session)) return // users do not read the sessions of subagents
      await store(this.client, this.sessions, session, text, signal)
    }
    leave().catch((err) => signal.aborted || this.log.warn("no mark in the session", { session, cause: asError(err).message }))
  }

  /**
   * Stores the answer to a command in the session, hidden from the model. While a turn runs, it stores nothing and
   * returns false, because a new message would make OpenCode call the model once more.
   */
  async leave(session: string, text: string): Promise<boolean> {
    if (this.sessions.isRunning(session)) return false
    try {
      const isStored = store(this.client, this.sessions, session, text, AbortSignal.timeout(leaveMS)).then(() => true)
      return (await within(leaveMS, isStored)) ?? false
    } catch (err) {
      this.log.warn("the answer to a command is not stored", { session, cause: asError(err).message })
      return false
    }
  }

  private compactionNotice(separator: string): string {
    return this.isCompactionOff ? separator + "OpenCode's own compaction is off, so nothing keeps your sessions below the model's limit." : ""
  }

  protected override tell(text: string, isTrouble: boolean): void {
    this.warn(text)
    // compactionNotice needs OpenCode's configuration, which is not known during the start. So it is called only when
    // the notice is shown.
    if (isTrouble) this.notices.addTrouble(() => text + this.compactionNotice("\n")) // the text may end with a command
    else this.notices.add(() => text)
  }

  showNotices(): void {
    this.notices.userIsHere()
  }

  /**
   * Logs a warning. OpenCode's own log gets it later if OpenCode is still starting its plugins, because OpenCode then
   * accepts no calls.
   */
  private warn(text: string): void {
    this.log.warn(text)
    this.unlogged.push(text)
    if (this.acceptsCalls) this.flushWarnings()
  }

  /**
   * Sends the waiting warnings to OpenCode's log. Every hook calls this, because a hook runs only after OpenCode has
   * started.
   */
  private flushWarnings(): void {
    if (!this.acceptsCalls) removeOrphans(this.client).catch((err) => this.log.warn("orphaned sessions not removed", { cause: asError(err).message }))
    this.acceptsCalls = true
    for (const text of this.unlogged.splice(0)) {
      this.client.app.log({ body: { service: "magicctx", level: "warn", message: text } }).catch(() => {})
    }
  }

  override guard<T>(hook: string, body: () => Promise<T> | T): Promise<T | undefined> {
    return super.guard(hook, () => {
      this.flushWarnings()
      return body()
    })
  }
}
