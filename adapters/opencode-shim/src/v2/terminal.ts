import { isDeepStrictEqual } from "node:util"
import { asError, askStatus, executeCommand, followStatus, type PluginInstance, type SessionStatus } from "@magicctx/shim-core"
import { noRequest, viewOf, type View } from "../tui/view.ts"
import { definition, type Asked, type Calls, type News, type Notice } from "./halves.ts"
import type { PluginContext, RpcRegistration } from "./opencode2.ts"

const mostNotices = 20

type Owner = PluginInstance & { readonly ctx: PluginContext }

/**
 * The part of the plugin that runs in OpenCode's server. It serves the terminals, each of which is a separate process
 * that draws with src/tui.ts. A terminal may miss an event. So the event `news` has no content. It only makes the
 * terminals call the method `news`, whose answer contains everything that is new.
 */
export class Terminal {
  private readonly owner: Owner
  /** The sessions whose status the host sends. */
  private readonly followed = new Set<string>()
  private readonly views = new Map<string, View>()
  private readonly registration: Promise<RpcRegistration | undefined>
  private readonly notices: Notice[] = []
  /**
   * The number of the newest notice. The first number is the current time, so that a later process continues with
   * larger numbers.
   */
  private newest = Date.now()
  /** The number of the newest notice that a terminal has fetched. */
  private fetched = 0

  constructor(owner: Owner) {
    this.owner = owner
    this.registration = this.register()
  }

  private async register(): Promise<RpcRegistration | undefined> {
    const { ctx, directory, log } = this.owner
    if (!ctx.rpc) {
      log.warn("this OpenCode connects no plugin with its terminal, so there are no commands, notices and panel")
      return undefined
    }
    const handlers: Calls = {
      news: async (asked) => this.news(asked),
      run: (command) => executeCommand(this.owner.host, { ...command, directory }),
    }
    try {
      return await ctx.rpc.register(definition, { ...handlers })
    } catch (err) {
      log.warn("no calls of the terminal", { cause: asError(err).message })
      return undefined
    }
  }

  async dispose(): Promise<void> {
    await (await this.registration)?.dispose()
  }

  forget(session: string): void {
    this.views.delete(session)
  }

  /** Stores a notice, and tells all terminals. If no terminal has asked yet, the next terminal shows the notice. */
  notify(notice: Omit<Notice, "number">): void {
    this.newest = Math.max(Date.now(), this.newest + 1)
    this.notices.push({ number: this.newest, ...notice })
    this.notices.splice(0, this.notices.length - mostNotices)
    this.announce("")
  }

  /**
   * The host sends the status of a session to all directories of this process. If no terminal of this directory shows
   * the session, the status is ignored.
   */
  changed(status: SessionStatus): void {
    const { harness, session } = status
    const view = viewOf(status)
    if (harness !== "opencode2" || !this.views.has(session) || isDeepStrictEqual(this.views.get(session), view)) return
    this.views.set(session, view)
    this.announce(session)
  }

  /**
   * Called after a connection to a host was opened. It may be a new host, which does not know yet which sessions it
   * must report. So the shim asks again for the statuses of all sessions.
   */
  linked(): void {
    for (const session of this.views.keys()) this.follow(session)
  }

  private follow(session: string): void {
    const { host } = this.owner
    if (!followStatus(host, "opencode2", session, this.followed)) return
    askStatus(host, "opencode2", session).then(
      (status) => this.changed(status),
      () => {},
    )
  }

  /** An empty session means all sessions. */
  announce(session: string): void {
    void this.registration
      .then((registration) => registration?.events.emit("news", { session }))
      .catch((err) => this.owner.log.warn("no event for the terminal", { cause: asError(err).message }))
  }

  private news({ session, seen }: Asked): News {
    const { enabled, isInTrouble } = this.owner
    if (session && enabled) {
      if (!this.views.has(session)) this.views.set(session, noRequest)
      this.follow(session)
    }
    const notices = this.notices.filter(({ number }) => number > (seen || this.fetched))
    this.fetched = this.newest
    return {
      commands: (enabled ?? this.owner.recall())?.commands.map(({ name, description }) => ({ name, description })) ?? [],
      view: isInTrouble ? { note: "magicctx is not working" } : (this.views.get(session) ?? {}),
      notices,
      seen: this.newest,
    }
  }
}
