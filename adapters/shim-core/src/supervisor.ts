import type { Child } from "./child.ts"
import { asError, Connection, EndOfOutput } from "./connection.ts"
import { isOtherProtocol, type Directories } from "./directories.ts"
import type { Log } from "./log.ts"
import type { Outbox } from "./outbox.ts"

const firstDelayMS = 50
const longestDelayMS = 5_000
/** If a host has run for longer than this, in ms, and then ends, the next host is started after the shortest delay. */
const provenMS = 1_000
/**
 * After this many failed starts in a row, the host counts as down. A call then waits at most attemptMS for one more
 * attempt, and fails after that.
 */
const mostFailedStarts = 5
/**
 * While the host is down, a call waits this long for it, in ms. The time counts from the start of the current attempt.
 */
export const attemptMS = 1_000
/** If the host sends nothing for this long after a missed deadline, in ms, the connection is closed. */
const silenceMS = 10_000
/** How long the process of a broken connection may take to end, in ms. */
const brokenGraceMS = 200

const stopped = "the shim has stopped"

/** What has gone wrong since the host last answered a call. Each state passes this on to the next state. */
interface Health {
  /** How many processes were started since the host last answered a call. */
  readonly starts: number
  /**
   * Whether the host counts as down, because several starts have failed or because it has missed a deadline. Calls then
   * wait for at most attemptMS.
   */
  readonly isDown: boolean
  /** The reason for the last failure, as a sentence for the user; empty if there was none since the last connection. */
  readonly failure: string
}

/** The fields that every state has between the first start and the stop. */
interface Living {
  readonly health: Health
}

/** The fields that a state has while the supervisor tries to reach the host, or has reached it. */
interface Attempt extends Living {
  /** When the attempt began, in ms of the clock. */
  readonly since: number
}

/**
 * The states of the supervisor, in the order in which they follow each other:
 *
 *     unused → starting → opening → connected → ending → pausing → starting → …
 *
 * If no process can be started, starting leads to pausing. If the host refuses to serve, opening leads to ending. Each
 * state may lead to stopped.
 */
type State =
  /** No directory was opened yet, so no process was started. */
  | { readonly name: "unused" }
  /** A process is about to be started. */
  | ({ readonly name: "starting" } & Attempt)
  /** The process runs. The directories are being opened on its connection. */
  | ({ readonly name: "opening"; readonly child: Child; readonly connection: Connection } & Attempt)
  /** Calls go to the connection. */
  | ({ readonly name: "connected"; readonly child: Child; readonly connection: Connection } & Attempt)
  /** The process ends, because its connection is lost or a newer host takes its place. */
  | ({ readonly name: "ending"; readonly child: Child } & Attempt)
  /** The supervisor waits before the next start. `wake` ends the wait early. */
  | ({ readonly name: "pausing"; wake(): void } & Living)
  | { readonly name: "stopped" }

/**
 * Runs one host process after another, each with one connection. On a new connection, it opens every directory before
 * it sends anything else.
 *
 * After several failed starts, or after a missed deadline, isDown is true until the host answers a call.
 */
export class Supervisor {
  /**
   * Counts the connections. If it has changed, the host behind the connection may be a new one that does not know this
   * shim's sessions.
   */
  generation = 0
  #state: State = { name: "unused" }
  readonly #startProcess: () => Child
  readonly #directories: Directories
  readonly #outbox: Outbox
  readonly #log: Log

  constructor(startProcess: () => Child, directories: Directories, outbox: Outbox, log: Log) {
    this.#startProcess = startProcess
    this.#directories = directories
    this.#outbox = outbox
    this.#log = log
  }

  /** The connection that calls go to, if there is one. */
  get connection(): Connection | undefined {
    return this.#state.name === "connected" ? this.#state.connection : undefined
  }

  get isDown(): boolean {
    return this.#health?.isDown ?? false
  }

  get isStopped(): boolean {
    return this.#state.name === "stopped"
  }

  /** The reason why there is no connection, as a sentence for the user. */
  get trouble(): string {
    const state = this.#state
    if (state.name === "stopped") return stopped
    if (state.name === "opening" && Date.now() - state.since >= attemptMS) return "the host has started, but does not answer"
    return this.#health?.failure || "the host has not answered yet"
  }

  /** Starts the first process. Later calls do nothing. */
  begin(): void {
    if (this.#state.name !== "unused") return
    this.#enterStarting({ starts: 0, isDown: false, failure: "" })
    this.#run().catch((err) => this.#log.warn("supervisor of the host failed", { cause: asError(err).message }))
  }

  /**
   * Ends the pause before the next start, if there is one. Returns the time until which a caller should wait for the
   * host.
   */
  hurry(): number {
    this.#endPause()
    return "since" in this.#state ? this.#state.since + attemptMS : 0
  }

  /** Records that the host has answered a call. */
  answered(): void {
    const health = this.#health
    if (health && (health.starts > 0 || health.isDown)) this.#note({ starts: 0, isDown: false })
  }

  /** Records that the host has missed a deadline. If it then sends nothing for silenceMS, the connection is closed. */
  missed(cause: Error): void {
    this.#note({ isDown: true })
    const { connection } = this
    if (!connection) return
    this.#note({ failure: cause.message })
    connection.beginSilence()
    setTimeout(() => {
      if (Date.now() - (connection.silence?.since ?? Infinity) >= silenceMS) connection.close(cause)
    }, silenceMS + 1).unref()
  }

  /** Records that the host is about to end. From now on, all calls go to the next host. */
  retire(): void {
    if (this.#state.name === "connected") this.#enterEnding()
  }

  /** Ends the process, and starts no other one. After graceMS it kills the process. Resolves when the process has ended. */
  async stop(graceMS?: number): Promise<void> {
    const state = this.#state
    this.#state = { name: "stopped" }
    if (state.name === "pausing") state.wake()
    if ("child" in state) state.child.stop(graceMS)
    if ("connection" in state) state.connection.close(new Error(stopped))
    this.#outbox.failAll(new Error(stopped))
    if ("child" in state) await state.child.ended
  }

  async #run(): Promise<void> {
    let logged = ""
    for (let delay = firstDelayMS; ; delay = Math.min(2 * delay, longestDelayMS)) {
      const startedAt = Date.now()
      const failure = await this.#serveOnce()
      if (!this.#health) return // stopped
      if (this.#health.starts === 0 || Date.now() - startedAt > provenMS) delay = firstDelayMS
      if (failure !== logged) this.#log.warn("host is not available", { cause: failure })
      logged = failure
      this.#note({ failure, isDown: this.isDown || this.#health.starts >= mostFailedStarts })
      if (this.isDown) this.#outbox.failAll(new Error(failure))
      // The jitter prevents the shims of one user from restarting at the same moments.
      await this.#pause(delay * (0.5 + Math.random() / 2))
      if (this.isStopped) return
    }
  }

  /** Runs one host process to its end. Returns the reason why it ended. */
  async #serveOnce(): Promise<string> {
    let child: Child
    let connection: Connection
    try {
      child = this.#startProcess()
      const directories = this.#directories
      connection = new Connection(
        child.output,
        child.input,
        (method, params, signal) => directories.serve(method, params, signal),
        (method, params) => directories.notify(method, params),
      )
    } catch (err) {
      // No executable was found, so calls should not wait for more attempts. The attempts go on, because the user may
      // install one.
      this.#note({ isDown: true })
      this.#directories.giveUp()
      return asError(err).message
    }
    this.#enterOpening(child, connection)
    void child.ended.then((how) => connection.close(new Error(how)))
    try {
      // While one batch of directories is being opened, more may be added, so the loop repeats until all are open.
      // There must be no await between the last check and enterConnected, or another directory could slip in unopened.
      for (let left; (left = this.#directories.unopened(connection)).length > 0; ) {
        await Promise.all(left.map((directory) => this.#directories.open(connection, directory)))
      }
      this.#enterConnected()
    } catch (err) {
      if (isOtherProtocol(err)) this.#note({ isDown: true })
      connection.close(asError(err))
    }
    const reason = await connection.closed
    this.#enterEnding()
    child.stop(brokenGraceMS)
    const how = await child.ended
    return reason instanceof EndOfOutput ? how : reason.message
  }

  // The transitions between states. Stop may be called at any moment, so a transition does nothing if the state no
  // longer allows it.

  #enterStarting(health: Health): void {
    this.#state = { name: "starting", since: Date.now(), health: { ...health, starts: health.starts + 1 } }
  }

  #enterOpening(child: Child, connection: Connection): void {
    const state = this.#state
    if (state.name !== "starting") return
    this.#state = { name: "opening", since: state.since, health: state.health, child, connection }
  }

  #enterConnected(): void {
    const state = this.#state
    if (state.name !== "opening") return
    this.generation++
    this.#log.info("host connected", { pid: state.child.pid, generation: this.generation })
    this.#state = { ...state, name: "connected", health: { ...state.health, failure: "" } }
    this.#outbox.sendAll(state.connection)
    this.#directories.tell(true)
  }

  #enterEnding(): void {
    const state = this.#state
    if (state.name !== "opening" && state.name !== "connected") return
    this.#state = { name: "ending", since: state.since, health: state.health, child: state.child }
    if (state.name === "connected") this.#directories.tell(false)
  }

  /** Enters pausing. Resolves at its end, when the state is starting or stopped. */
  #pause(ms: number): Promise<void> {
    const state = this.#state
    if (state.name !== "starting" && state.name !== "ending") return Promise.resolve()
    return new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#endPause(), ms)
      timer.unref()
      const wake = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#state = { name: "pausing", health: state.health, wake }
    })
  }

  #endPause(): void {
    const state = this.#state
    if (state.name !== "pausing") return
    this.#enterStarting(state.health)
    state.wake()
  }

  get #health(): Health | undefined {
    return "health" in this.#state ? this.#state.health : undefined
  }

  /** Changes the health without a change of state. */
  #note(change: Partial<Health>): void {
    const state = this.#state
    if ("health" in state) this.#state = { ...state, health: { ...state.health, ...change } }
  }
}
