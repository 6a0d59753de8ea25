import { AgentRuns, askStatus, followStatus, Method, PluginInstance, statusLine, timeoutMS, type InitializeResult, type Lease, type Log, type SessionStatus } from "@magicctx/shim-core"
import { runAgent } from "./agents.ts"
import { handlers } from "./callbacks.ts"
import { step } from "./generated/step.ts"
import type { Context, Open } from "./pi.ts"
import type { Step } from "./steps.ts"
import { RunPrompt } from "./system.ts"
import { Lines } from "./typed.ts"
import { Screen } from "./ui.ts"
import { showView } from "./view.ts"

declare const shimVersion: string // defined by the bundler

const facts = {
  name: "pi",
  title: "Pi",
  shim: "pi-shim",
  version: shimVersion,
  format: { projection: step, key: (one: unknown) => (one as Step).id },
} as const

/**
 * The plugin's state for one directory. It stays in memory when Pi switches to another session, reloads its extensions
 * or forks a session.
 */
export class Instance extends PluginInstance {
  readonly screen: Screen
  readonly prompt = new RunPrompt()
  readonly lines = new Lines()
  protected override readonly noticeAtStart = " Its tools and commands are there after the next start of Pi."
  /** Undefined between two sessions. */
  open: Open | undefined
  /**
   * Sessions whose last request may not have reached the provider. For example, the user may abort a request just
   * before its pass. Pi then still runs the pass, but sends nothing.
   */
  readonly unsent = new Set<string>()
  /**
   * Sessions that the shim has compacted because the provider refused their prompt. A session leaves this set with its
   * next good answer.
   */
  readonly recovering = new Set<string>()
  /** Whether a notice has already told the user why Pi does not compact by itself. It is shown only once. */
  hasExplainedCompaction = false
  private readonly runs: AgentRuns
  private registered: InitializeResult | undefined
  private hasStarted = false
  /** Draws the view of the whole screen again, if it is open. */
  private refresh: (() => void) | undefined
  /** The sessions whose status the host sends. */
  private readonly followed = new Set<string>()

  constructor(directory: string, lease: Lease, log: Log) {
    const screen = new Screen()
    const runs = new AgentRuns((params, signal) => runAgent(this.open, params, signal))
    super(facts, { directory }, lease, log, { ...handlers(() => this), ...runs.handlers })
    this.screen = screen
    this.runs = runs
  }

  override dispose(): void {
    this.runs.stop()
    super.dispose()
  }

  /** Pi may report an open session twice. */
  attach(open: Open): void {
    this.open = open
    this.refresh = undefined
    this.screen.attach(open.ctx)
  }

  detach(session: string): void {
    this.prompt.end()
    if (this.open?.session === session) this.open = undefined
  }

  /**
   * Returns the tools and commands to register. They do not change after the first session of the process, because the
   * tools' texts are at the start of the cached prefix.
   */
  async start(timeoutMS: number): Promise<InitializeResult | undefined> {
    if (!this.hasStarted) {
      this.hasStarted = true
      this.registered = await this.opened(timeoutMS)
    }
    return (this.registered ??= this.enabled)
  }

  followStatus(): void {
    const { open } = this
    if (open?.ctx.hasUI && this.enabled) followStatus(this.host, "pi", open.session, this.followed)
  }

  /** A new session has no status yet. */
  showStatus(): void {
    const { open } = this
    if (!open?.ctx.hasUI || !this.enabled) return
    this.screen.status("magicctx")
    this.screen.widget(undefined)
    askStatus(this.host, "pi", open.session).then(
      (status) => this.changed(status),
      () => {},
    )
  }

  changed(status: SessionStatus): void {
    if (status.harness !== "pi" || status.session !== this.open?.session || this.isInTrouble) return
    this.screen.status(statusLine(status))
    this.screen.widget(status.panel?.widget)
    this.refresh?.()
  }

  /** Returns whether Pi has shown the view. */
  view({ ui, sessionManager }: Context): Promise<boolean> {
    const params = { harness: "pi", session: sessionManager.getSessionId() } as const
    return showView(ui, (columns) => this.host.call(Method.SessionStatus, { ...params, columns }, { timeoutMS: timeoutMS.command }), (refresh) => (this.refresh = refresh))
  }

  protected override tell(text: string, isTrouble: boolean): void {
    this.log.warn(text)
    this.screen.notify(text, "warning")
    if (isTrouble && this.isInTrouble) {
      // A notice soon scrolls off the screen. The widget stays, so that a user who comes back later learns why the
      // session grows.
      this.screen.widget([`magicctx is not working. ${this.learnMore}`])
      this.screen.status("magicctx is not working")
    }
  }

  protected override recovered(): void {
    this.screen.widget(undefined)
    this.screen.status("magicctx")
  }
}
