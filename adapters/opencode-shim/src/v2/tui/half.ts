import { asError, openLog, walk, type Dialogs, type Log } from "@magicctx/shim-core"
import { Notices, noticeMS } from "../../notices.ts"
import { definition, type Calls, type News, type Notice } from "../halves.ts"
import type { KeymapCommand, RpcCalls, TerminalContext, ToastOptions } from "../opencode2.ts"
import { Panels } from "../../tui/panels.ts"
import { claimTerminal, loadSolid, type Solid } from "../../tui/solid.ts"
import { dialogsOf, showText, type Stack } from "../../tui/dialogs.ts"

/**
 * After these events of OpenCode, the terminal asks the plugin's half in the server for news. The server half may have
 * news, or may have been restarted.
 */
const wakers = [`rpc.${definition.id}.news`, "server.connected", "plugin.updated"]
/** How long a toast shows the answer to a command, in ms. It is used if this version of OpenCode has no dialogs. */
const answerMS = 60_000
/** The assumed size of the terminal, if this version of OpenCode does not report it. */
const usualSize = { width: 80, height: 24 }

/**
 * Starts the terminal half of the plugin in OpenCode 2. It never throws. If this version lacks a feature, setup leaves
 * it out.
 */
export function setup(ctx: TerminalContext, solid = loadSolid): () => void {
  const giveBack = claimTerminal()
  if (!giveBack) return () => {}
  const half = new Half(ctx, openLog("opencode-tui"))
  void half.start(solid)
  return () => {
    giveBack()
    half.dispose()
  }
}

class Half {
  private readonly ctx: TerminalContext
  private readonly log: Log
  private readonly panels = new Panels()
  private readonly notices = new Notices<Notice>(({ title, message, variant }, duration) => {
    this.toast({ ...(title && { title }), message, variant, duration })
  })
  private calls: RpcCalls | undefined
  private solid: Solid | undefined
  /** For each directory, the number of the last notice that was read. */
  private readonly seen = new Map<string, number>()
  private readonly stops: Array<() => void> = []
  private hasCommands = false
  private isAsking = false
  private mustAskAgain = false
  private isDisposed = false
  private readonly stack: Stack = {
    show: (render, closed) => this.ctx.ui.dialog!.show(render, closed),
    makeLarge: () => this.ctx.ui.dialog!.set({ size: "large" }),
    clear: () => this.ctx.ui.dialog!.clear(),
    size: () => this.ctx.renderer ?? usualSize,
    colours: () => ({ text: this.ctx.theme?.text?.base, muted: this.ctx.theme?.text?.muted }),
  }

  constructor(ctx: TerminalContext, log: Log) {
    this.ctx = ctx
    this.log = log
  }

  async start(solid: typeof loadSolid): Promise<void> {
    const { ctx, notices } = this
    const missing: string[] = []
    const attempt = async (feature: string, body: () => Promise<void> | void) => {
      try {
        await body()
      } catch (err) {
        missing.push(feature)
        this.log.warn("missing in this OpenCode", { feature, cause: asError(err).message })
      }
    }
    await attempt("commands, notices and panel", () => {
      this.calls = ctx.client.rpc!(definition)
      for (const type of wakers) this.stops.push(ctx.data.on(type, () => void this.ask()))
    })
    if (this.calls) {
      await attempt("panel", async () => {
        this.solid = await solid()
        if (!this.isDisposed) this.draw(this.solid)
      })
    }
    if (missing.length > 0) this.toast({ title: "magicctx", message: `This version of OpenCode shows no ${missing.join(", ")} of magicctx.`, variant: "info" })
    notices.userIsHere()
    await this.ask()
  }

  private draw(solid: Solid): void {
    const { ctx, panels } = this
    panels.attach(solid, this.stack.colours)
    ctx.ui.slot({
      append: "prompt.footer.status",
      render: (input) => {
        solid.effect(() => {
          void input.sessionID // a read of this signal makes the effect run again for another session
          void this.ask()
        })
        return panels.line(() => input.sessionID ?? "", ({ line }) => line)
      },
    })
    ctx.ui.slot({ append: "sidebar.content", render: (input) => panels.sidebar(() => input.sessionID ?? "") })
  }

  dispose(): void {
    this.isDisposed = true
    for (const stop of this.stops.splice(0)) stop()
  }

  private place(): { session: string; directory: string } {
    const { data, location, ui } = this.ctx
    const { sessionID: session = "" } = ui.router.current()
    const of = session ? data.session.get(session)?.location : location
    return { session, directory: (of ?? data.location.default()).directory }
  }

  private async ask(): Promise<void> {
    this.mustAskAgain = true
    if (this.isAsking) return
    this.isAsking = true
    try {
      while (this.mustAskAgain && !this.isDisposed) {
        this.mustAskAgain = false
        const { session, directory } = this.place()
        const news = await this.calls?.news!({ session, seen: this.seen.get(directory) ?? 0 }, { location: { directory } })
        if (news && !this.isDisposed) this.show(session, directory, news as News)
      }
    } catch (err) {
      // The server half is not running. When it starts, it sends an event, and the terminal asks again.
      this.log.info("no news", { cause: messageOf(err) })
    } finally {
      this.isAsking = false
    }
  }

  private show(session: string, directory: string, { commands, view, notices, seen }: News): void {
    this.seen.set(directory, seen)
    this.panels.set(session, view)
    for (const notice of notices) {
      if (notice.isTrouble) this.notices.addTrouble(() => notice)
      else this.notices.add(() => notice)
    }
    if (commands.length > 0 && !this.hasCommands) this.register(commands)
  }

  /**
   * Registers the commands. Each command declares that it takes arguments. Otherwise, OpenCode would send a line such
   * as "/ctx-recomp 12-40" as a prompt.
   */
  private register(commands: News["commands"]): void {
    this.hasCommands = true
    const all = commands.map(({ name, description }): KeymapCommand => ({
      id: `magicctx.${name}`,
      title: name,
      description,
      group: "magicctx",
      slash: { name, arguments: true },
      run: (input) => this.run(name, input ?? ""),
    }))
    try {
      this.ctx.keymap.layer(() => ({ mode: "global", commands: all }))
    } catch (err) {
      this.log.warn("no commands", { cause: asError(err).message })
      this.toast({ title: "magicctx", message: "This version of OpenCode takes no commands of magicctx.", variant: "info" })
    }
  }

  /** Runs a command. The user may choose further commands on its pages, for example in /ctx-menu. */
  private async run(name: string, input: string): Promise<void> {
    try {
      const { session, directory } = this.place()
      if (!session) return this.toast({ title: "magicctx", message: `/${name} is about a session: open one first.`, variant: "warning" })
      const run = async (command: string, args: string) => (await this.calls!.run!({ session, command, arguments: args }, { location: { directory } })) as Awaited<ReturnType<Calls["run"]>>
      const answer = await walk(run, this.dialogs, name, input.trim())
      if (!answer) return
      const { title = "magicctx", message, variant, stays } = answer
      if (!stays || !this.dialog(title, message)) this.toast({ title, message, variant, duration: stays ? answerMS : noticeMS(message) })
    } catch (err) {
      this.toast({ title: "magicctx", message: `/${name}: ${messageOf(err)}`, variant: "error" })
    }
  }

  /** OpenCode's dialogs. Undefined if this version of OpenCode has no dialogs with choices. */
  private get dialogs(): Dialogs | undefined {
    const { solid, stack } = this
    const { dialog } = this.ctx.ui
    if (!dialog?.select || !solid) return undefined
    return dialogsOf(stack, solid, {
      select: (title, options) => {
        const chosen = dialog.select({ title, options })
        stack.makeLarge()
        return chosen
      },
      confirm: (title, message) => dialog.confirm({ title, message }),
      ask: (title, value = "") => dialog.prompt({ title, value }),
    })
  }

  /** Shows a text in a dialog. Returns false if this version of OpenCode has no dialogs. */
  private dialog(title: string, message: string): boolean {
    const { ctx, solid, stack } = this
    for (const show of [() => showText(stack, solid!, title, message), () => void ctx.ui.dialog!.alert({ title, message }).catch(() => {})]) {
      try {
        show()
        return true
      } catch (err) {
        this.log.warn("no dialog", { cause: asError(err).message })
      }
    }
    return false
  }

  private toast(options: ToastOptions): void {
    try {
      this.ctx.ui.toast!.show(options)
    } catch (err) {
      this.log.warn("no toast", { message: options.message, cause: asError(err).message })
    }
  }
}

/** Returns the message of an error. OpenCode's RPC throws plain objects, which are not instances of Error. */
function messageOf(err: unknown): string {
  return (err as { message?: string } | undefined)?.message ?? String(err)
}
