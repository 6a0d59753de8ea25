import { acquireHost, asError, askStatus, executeCommand, Host, locateHost, Method, openLog, ProtocolMajor, ProtocolMinor, RpcError, startHost, walk, type Choice, type Dialogs, type Lease, type Log, type Opening, type SessionStatus } from "@magicctx/shim-core"
import { noticeMS } from "../notices.ts"
import { dialogsOf, showText, type Stack } from "../tui/dialogs.ts"
import { Panels, type Colours } from "../tui/panels.ts"
import { claimTerminal, loadSolid, type Solid } from "../tui/solid.ts"
import { noRequest, viewOf, type View } from "../tui/view.ts"
import type { Screen } from "./opencode.ts"

declare const shimVersion: string // defined by the bundler

const harness = "opencode"
/** Places the panel in OpenCode's sidebar, between the sections about the context and about the language servers. */
const order = 150
const followMS = 2_000

const commands = [
  { name: "ctx-menu", title: "magicctx: status, search, memories, what was taken out" },
  { name: "ctx-status", title: "Show the whole status of the context" },
  { name: "ctx-flush", title: "Free space with the next request" },
  { name: "ctx-wrapup", title: "Summarise all but the newest turns" },
]

/**
 * Starts the part of the plugin that runs in the screen of OpenCode 1. If the start fails, the screen has no panel, but
 * OpenCode works.
 */
export async function screen(api: Screen, solid = loadSolid): Promise<void> {
  const giveBack = claimTerminal()
  if (!giveBack) return
  const log = openLog("opencode-tui")
  const half = new Half(api, log)
  api.lifecycle.onDispose(() => {
    giveBack()
    half.dispose()
  })
  try {
    await half.start(solid)
  } catch (err) {
    log.warn("no panel on this screen", { cause: asError(err).message })
  }
}

class Half {
  private readonly api: Screen
  private readonly log: Log
  private readonly panels = new Panels()
  private lease: Lease | undefined
  private opening: Opening | undefined
  private isLinked = false
  private solid: Solid | undefined
  private dialogs: Dialogs | undefined
  /** The session on the screen, or the last one. */
  private session = ""
  /** OpenCode shows one dialog at a time. */
  private readonly stack: Stack = {
    show: (render, closed) => this.api.ui.dialog.replace(render, closed),
    makeLarge: () => this.api.ui.dialog.setSize("large"),
    clear: () => this.api.ui.dialog.clear(),
    size: () => this.api.renderer,
    colours: (): Colours => {
      const { text, textMuted: muted, warning: notice, error: alarm, success: work } = this.api.theme.current
      return { text, muted, notice, alarm, work }
    },
  }

  constructor(api: Screen, log: Log) {
    this.api = api
    this.log = log
  }

  async start(solid: typeof loadSolid): Promise<void> {
    const { api, panels } = this
    api.keymap.registerLayer({
      commands: commands.map(({ name, title }) => ({ namespace: "palette", name: `magicctx.${name}`, title, desc: `/${name}`, category: "magicctx", run: () => void this.run(name) })),
      bindings: [],
    })
    this.solid = await solid()
    const { effect } = this.solid
    panels.attach(this.solid, this.stack.colours)
    this.dialogs = dialogsOf(this.stack, this.solid, {
      select: (title, options) => {
        const chosen = this.ask<Choice>((done) => api.ui.DialogSelect({ title, options, onSelect: ({ value }) => done(value as Choice) }))
        this.stack.makeLarge()
        return chosen
      },
      confirm: (title, message) => this.ask<boolean>((done) => api.ui.DialogConfirm({ title, message, onConfirm: () => done(true) })),
      ask: (title, value = "") => this.ask<string>((done) => api.ui.DialogPrompt({ title, value, onConfirm: done })),
    })
    const shown = (element: (session: () => string) => unknown) => (_: unknown, props: { readonly session_id: string }) => {
      effect(() => this.opened(props.session_id))
      return element(() => props.session_id)
    }
    api.slots.register({
      order,
      slots: {
        sidebar_content: shown((session) => panels.sidebar(session)),
        // OpenCode shows this line beside the names of the agent and the model.
        session_prompt_right: shown((session) => panels.fittedLine(session)),
      },
    })
  }

  dispose(): void {
    this.opening?.close()
    this.lease?.release()
  }

  /**
   * Follows the session on the screen. It connects to the host when the first session appears, because no host is
   * needed before.
   */
  private opened(session: string): void {
    if (session === this.session || !session) return
    this.session = session
    if (this.lease) {
      if (this.isLinked) this.follow()
      return
    }
    const { log } = this
    this.lease = acquireHost(() => new Host(() => startHost(locateHost(import.meta.url, process.env, harness), log, { harness, keepsAlive: false }), log))
    this.opening = this.lease.host.open(
      { protocol: { major: ProtocolMajor, minor: ProtocolMinor }, client: "opencode-tui", clientVersion: shimVersion, pid: process.pid },
      { [Method.SessionChanged]: (status) => this.changed(status) },
      (isLinked) => this.linked(isLinked),
    )
  }

  /**
   * Called when the connection opens or breaks. A new connection may lead to another host, which does not know yet that
   * the screen follows this session.
   */
  private linked(isLinked: boolean): void {
    this.isLinked = isLinked
    if (isLinked) this.follow()
    else this.show(this.session, { ...this.panels.get(this.session), note: "magicctx: connecting to the host again" })
  }

  private follow(): void {
    const { session } = this
    const { host } = this.lease!
    const { result } = this.opening!
    if (result?.enabled === false) return this.show(session, { note: `magicctx is not working: ${result.reason}` })
    host.call(Method.SessionSubscribe, { harness, session, only: true }, { timeoutMS: followMS }).catch((err) => this.log.info("session not followed", { session, cause: asError(err).message }))
    askStatus(host, harness, session).then(
      (status) => this.changed(status),
      (err) => err instanceof RpcError && this.show(session, noRequest),
    )
  }

  private changed(status: SessionStatus): void {
    if (status.harness === harness && status.session === this.session) this.show(status.session, viewOf(status))
  }

  private show(session: string, view: View): void {
    this.panels.set(session, view)
  }

  private ask<T>(make: (done: (answer: T) => void) => unknown): Promise<T | undefined> {
    const { stack } = this
    return new Promise((resolve) => {
      const done = (answer: T) => {
        resolve(answer)
        stack.clear()
      }
      stack.show(() => make(done), () => resolve(undefined))
    })
  }

  /**
   * Runs a command of the palette. Some commands, for example /ctx-menu, open a page on which the user chooses the next
   * command. The method then runs that command as well.
   */
  private async run(name: string): Promise<void> {
    const { api, dialogs, solid, stack } = this
    const { name: shown, params } = api.route.current
    const session = params?.sessionID
    if (shown !== "session" || typeof session !== "string") return api.ui.toast({ title: "magicctx", message: `/${name} is about a session: open one first.`, variant: "warning" })
    this.opened(session)
    const { host } = this.lease!
    const { directory } = api.state.path
    const answer = await walk((command, args) => executeCommand(host, { harness, session, directory, command, arguments: args }), dialogs, name, "")
    if (!answer) return
    const { title = "magicctx", message, variant, stays } = answer
    if (stays && solid) showText(stack, solid, title, message)
    else api.ui.toast({ title, message, variant, duration: noticeMS(message) })
  }
}
