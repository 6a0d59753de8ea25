import { asError, RpcError } from "./connection.ts"
import type { Handlers } from "./directories.ts"
import { Code, Method, ProtocolMajor, ProtocolMinor, type Harness, type HostCalls, type InitializeParams, type InitializeResult } from "./generated/protocol.ts"
import type { Host, Opening } from "./host.ts"
import type { Log } from "./log.ts"
import { doctorCommand } from "./locate.ts"
import { Passes, type MessageFormat } from "./passes.ts"
import { Registrations } from "./registration.ts"
import type { Lease } from "./shared.ts"
import { SystemPrompts } from "./system.ts"

/** How many of the host's warnings one notice shows. A broken file can have fifty. */
const shownAtOnce = 3

/** The facts about a harness that a plugin instance needs. */
export interface HarnessFacts {
  readonly name: Harness
  /** The harness's name for people, for example "OpenCode". */
  readonly title: string
  /** The shim and its version, for example "opencode-shim" and "0.1.0". */
  readonly shim: string
  readonly version: string
  readonly format: MessageFormat
}

/** The project that a plugin instance works for. */
export interface Project {
  readonly directory: string
  readonly worktree?: string
}

/**
 * A PluginInstance serves one directory. It contains everything that the shims of all harnesses share: it opens the
 * directory in the host, and if the host cannot work, it tells the user once and asks the host again before each pass.
 * Each shim adds its own hooks.
 */
export abstract class PluginInstance {
  readonly directory: string
  readonly log: Log
  readonly passes: Passes
  readonly systems: SystemPrompts
  readonly #facts: HarnessFacts
  readonly #lease: Lease
  readonly #params: InitializeParams
  readonly #opening: Opening
  readonly #registrations: Registrations
  /**
   * The reason why the host does not work, in the words that the user was shown. It is undefined while the host works.
   */
  #trouble: string | undefined
  /**
   * True if a pass has failed in the current episode of trouble. Then only a successful pass ends the episode; a new
   * connection does not. Otherwise, a host that crashes in every pass would reconnect each time, and the user would see
   * one notice after another.
   */
  #hasFailedPass = false
  #mustAskAgain = false
  /** The sessions that oncePerEpisode has seen in the present episode of trouble. */
  readonly #marked = new Set<string>()
  #episode = new AbortController()
  #hasToldOfStrangeness = false
  /** The warnings, and the reasons why the host is off, that the user has seen. */
  readonly #shownWarnings = new Set<string>()

  constructor(facts: HarnessFacts, { directory, worktree }: Project, lease: Lease, log: Log, handlers: Handlers) {
    this.#facts = facts
    this.directory = directory
    this.log = log
    this.#lease = lease
    this.#registrations = new Registrations(`${facts.shim}-${facts.version}`)
    this.passes = new Passes(lease.host, facts.format, log, (failure) => this.#passed(failure))
    this.systems = new SystemPrompts(this)
    this.#params = {
      protocol: { major: ProtocolMajor, minor: ProtocolMinor },
      client: facts.shim,
      clientVersion: facts.version,
      harness: facts.name,
      pid: process.pid,
      directory,
      ...(worktree !== undefined && { worktree }),
    }
    this.#opening = lease.host.open(this.#params, handlers, (isOpen) => {
      if (!isOpen) return
      if (this.#trouble !== undefined && !this.#hasFailedPass && this.enabled) this.#works(this.enabled)
      this.linked()
    })
  }

  /**
   * Shows a text to the user as soon as someone looks at the screen. If isTrouble is true, the text must not wait
   * behind other notices.
   */
  protected abstract tell(text: string, isTrouble: boolean): void

  /**
   * Tells the user when the tools and commands appear. It is the last sentence of the notice about trouble, if the host
   * did not work at the start and the shim remembers no tools and commands from an earlier start. It begins with a
   * space, for example " Its tools and commands are there after the next start of Pi."
   */
  protected abstract readonly noticeAtStart: string

  /** Called when an episode of trouble is over. */
  protected recovered(): void {}

  /** Called after each new connection. The host may have restarted and lost the shim's subscriptions. */
  protected linked(): void {}

  /** Says where a user learns more about the trouble. It ends with a command line. */
  protected get learnMore(): string {
    return `To learn more, run: ${doctorCommand(import.meta.url, process.env, this.#facts.name)}`
  }

  get host(): Host {
    return this.#lease.host
  }

  /**
   * The host's answer to initialize. If the host does not work for this directory, it is undefined, and nothing may be
   * forwarded to the host.
   */
  get enabled(): InitializeResult | undefined {
    const { result } = this.#opening
    return result?.enabled ? result : undefined
  }

  /**
   * True if the host is switched on but cannot work. Until it works again, the shim sends requests with the last good
   * mutation.
   */
  get isInTrouble(): boolean {
    return this.#trouble !== undefined
  }

  /**
   * Waits for the host's first answer to initialize, and tells the user if something is wrong. Returns the answer with
   * the tools and commands that the shim must register. If the host cannot work, it returns the answer from an earlier
   * start.
   */
  async opened(timeoutMS: number): Promise<InitializeResult | undefined> {
    const result = await this.#opening.opened(timeoutMS)
    if (result && isOff(result)) {
      this.#standsDown(result)
      return undefined
    }
    if (this.enabled) {
      this.#works(this.enabled)
      return this.enabled
    }
    const registered = this.recall()
    this.#fails(this.#cause, registered ? "" : this.noticeAtStart)
    return registered
  }

  /** The tools and commands of an earlier start; undefined if there are none. */
  recall(): InitializeResult | undefined {
    return this.#registrations.recall(this.directory)
  }

  /** Returns the host's settings for the pass that begins; undefined if the host does nothing for this directory. */
  async ready(): Promise<InitializeResult | undefined> {
    let { result } = this.#opening
    if (!result || this.#mustAskAgain || (!result.enabled && !isOff(result))) {
      this.#mustAskAgain = false
      await this.#opening.again()
      result = this.#opening.result
    }
    if (result && isOff(result)) this.#standsDown(result)
    else if (!this.enabled) this.#fails(this.#cause)
    return this.enabled
  }

  /**
   * Returns the trouble, with a signal that aborts when the episode of trouble ends. Each session gets this result only
   * once per episode. Later calls, and calls without trouble, return undefined.
   */
  protected oncePerEpisode(session: string): { trouble: string; signal: AbortSignal } | undefined {
    const trouble = this.#trouble
    const episode = this.#episode
    const marked = this.#marked
    if (trouble === undefined || marked.has(session)) return undefined
    marked.add(session)
    return { trouble, signal: episode.signal }
  }

  /** Tells the host how long the harness keeps the prefix of an idle session in the provider's cache. */
  keepsWarm(seconds: number): void {
    if (this.#params.keptWarmSeconds === seconds) return
    this.#params.keptWarmSeconds = seconds
    void this.#opening.again()
  }

  get #cause(): string {
    return this.#opening.refusal ?? this.#opening.result?.reason ?? this.host.trouble
  }

  /** Notes the result of a pass. */
  #passed(failure: Error | undefined): void {
    if (!failure) {
      if (this.enabled) this.#works(this.enabled)
      return
    }
    this.#hasFailedPass = true
    this.#mustAskAgain = failure instanceof RpcError && failure.code === Code.Disabled
    this.#fails(failure.message)
  }

  #works(result: InitializeResult): void {
    const warnings = (result.warnings ?? []).filter((warning) => !this.#shownWarnings.has(warning))
    for (const warning of warnings) this.#shownWarnings.add(warning)
    const more = warnings.length - shownAtOnce
    if (more > 0) warnings.splice(shownAtOnce, more, `There are ${more} more warnings. ${this.learnMore}`)
    if (warnings.length > 0) this.tell(warnings.join("\n"), false)
    this.#registrations.remember(this.directory, result)
    if (this.#endTrouble()) this.log.info("magicctx works again")
  }

  /** Ends the episode of trouble. Returns whether there was one. */
  #endTrouble(): boolean {
    if (this.#trouble === undefined) return false
    this.#trouble = undefined
    this.#hasFailedPass = false
    this.#marked.clear()
    this.#episode.abort()
    this.#episode = new AbortController()
    this.recovered()
    return true
  }

  /** Called if the host is off for this directory without a fault, for example by a setting. The user is told once. */
  #standsDown(result: InitializeResult): void {
    this.#endTrouble()
    this.#registrations.remember(this.directory, result)
    const text = `magicctx is off: ${result.reason}.`
    if (this.#shownWarnings.has(text)) return
    this.#shownWarnings.add(text)
    this.tell(text, true)
  }

  #fails(cause: string, more = ""): void {
    if (this.#trouble !== undefined) {
      if (this.#trouble !== cause) this.log.warn("magicctx still does not work", { cause })
      return
    }
    this.#trouble = cause
    this.tell(
      `magicctx is not working: ${cause}. ${this.#facts.title} sends your prompts without it. It resumes by itself once the cause is fixed.${more} ${this.learnMore}`,
      true,
    )
  }

  /** Whether the host wants to be called for an optional method. */
  wants(method: keyof HostCalls | typeof Method.Event): boolean {
    return this.enabled?.hooks.includes(method) ?? false
  }

  /**
   * Runs the body of a hook, and catches every error, because a hook that throws may end the user's turn. After an
   * error, the changes that the body has made so far remain.
   */
  async guard<T>(hook: string, body: () => Promise<T> | T): Promise<T | undefined> {
    try {
      return await body()
    } catch (err) {
      this.log.warn("hook failed", { hook, cause: asError(err).message })
      if (err instanceof TypeError) this.#isStrange(hook, err)
      return undefined
    }
  }

  /** A TypeError in a hook means that this version of the harness passes unexpected values. The user is told once. */
  #isStrange(hook: string, { message }: TypeError): void {
    if (this.#hasToldOfStrangeness) return
    this.#hasToldOfStrangeness = true
    const { title } = this.#facts
    this.tell(`magicctx does not know what this version of ${title} does at ${hook}: ${message}. There, ${title} goes on without it. ${this.learnMore}`, false)
  }

  dispose(): void {
    this.#episode.abort()
    this.#opening.close()
    this.#lease.release()
  }
}

/** True if the host is off for a directory without a fault, for example because a setting says so. */
function isOff({ enabled, trouble }: InitializeResult): boolean {
  return !enabled && !trouble
}
