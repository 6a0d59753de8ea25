import type { Child } from "./child.ts"
import { asError, Connection, ConnectionClosed, EndOfOutput, invalidParams, methodNotFound, RpcError, type Pending } from "./connection.ts"
import {
  Code,
  Method,
  ProtocolMajor,
  type HostCalls,
  type HostNotifications,
  type InitializeParams,
  type InitializeResult,
  type ShimCalls,
} from "./generated/protocol.ts"
import type { Log } from "./log.ts"

/** The answers of a plugin instance to the host's requests; a method without one is unknown. */
export type Handlers = {
  [M in keyof ShimCalls]?: (params: ShimCalls[M]["params"], signal: AbortSignal) => Promise<ShimCalls[M]["result"]>
}

export interface CallOptions {
  timeoutMS: number
  signal?: AbortSignal
  /** Raw JSON that travels beside the parameters. */
  attachment?: string
  /** Fail rather than send again to the next host: for calls that have effects. */
  once?: boolean
}

/** A call missed its deadline. */
export class DeadlineExceeded extends Error {
  override name = "DeadlineExceeded"
}

/** Something to be sent once there is a connection. */
interface Letter {
  send(connection: Connection): void
  fail(reason: Error): void
}

/** An open directory of this process. */
export interface Opening {
  /** The host's latest answer to initialize; undefined until there is one. */
  readonly result: InitializeResult | undefined
  /** Why the host refused the directory, if it did. */
  readonly refusal: string | undefined
  /** Resolves with the first answer, or with undefined when timeoutMS have passed or no host can be started. */
  opened(timeoutMS: number): Promise<InitializeResult | undefined>
  /** Asks the host again, for a directory that it does not serve. Brief when the host is known to be down. */
  again(): Promise<InitializeResult | undefined>
  close(): void
}

const initializeTimeoutMS = 10_000
const firstDelayMS = 50
const longestDelayMS = 5_000
/** A host that worked this long has proved itself: the next restart is prompt again. */
const provenMS = 1_000
/** After so many starts in a row that came to nothing, the host counts as down. */
const patience = 5
/** How long a call waits for a host that is down, from the beginning of the attempt to reach it, ms. */
const attemptMS = 1_000
/** How long after a missed deadline calls wait for a sign of life, ms. */
const signMS = 250
/** So long after a missed deadline without a sign of life the connection is given up, ms. */
const silenceMS = 10_000
/** A call that lost its connection so often is not sent again: it may be the cause. */
const mostLosses = 2
/** How long the process of a broken connection may take to end, ms. */
const brokenGraceMS = 200
/** With more than this waiting, notifications are no longer kept. */
const longestOutbox = 1000
/** A host that does not read gets no more notifications than this, bytes. */
const longestUnread = 16 << 20

/**
 * The host as a shim sees it: always there, sometimes slow. It starts the
 * process, starts it again when it ends, and opens every directory anew before
 * anything else is sent. Calls under way when a host dies are sent again to the
 * next one, up to their deadlines.
 *
 * A host that several starts did not bring up, or that let a deadline pass, is
 * down: calls then fail at once instead of each waiting for its own deadline. It
 * is up again with its next answer. Meanwhile it is tried in the background, and
 * by every call.
 */
export class Host {
  /** Counts the connections: what a host remembered of an earlier one may be lost. */
  generation = 0
  private readonly start: () => Child
  private readonly log: Log
  private readonly openings = new Set<OpenDirectory>()
  private connection: Connection | undefined
  private child: Child | undefined
  /** What waits for a connection, in the order in which it was to be sent. */
  private outbox: Letter[] = []
  private failures = 0
  private down = false
  private lastFailure = ""
  private attemptBegan = 0
  private isTrying = false
  private running = false
  private stopped = false
  private wake: (() => void) | undefined

  constructor(start: () => Child, log: Log) {
    this.start = start
    this.log = log
  }

  /** Why there is no connection, in a sentence for the user. */
  get trouble(): string {
    if (this.isTrying && Date.now() - this.attemptBegan >= attemptMS) return "the host has started, but does not answer"
    return this.lastFailure || "the host has not answered yet"
  }

  /** Opens a directory, now and on every later connection, until closed. */
  open(params: InitializeParams, handlers: Handlers): Opening {
    const opening = new OpenDirectory(
      params,
      handlers,
      () => this.openings.delete(opening),
      () => this.reopen(opening),
    )
    this.openings.add(opening)
    if (!this.running) {
      this.running = true
      this.run().catch((err) => this.log.warn("host abandoned", { cause: asError(err).message }))
    } else if (this.connection) {
      // A connection that breaks here is replaced, and the directory opened on the next one.
      this.initialize(this.connection, opening).catch(() => {})
    }
    return opening
  }

  /** Calls a method and waits for the answer, across restarts, until the deadline. */
  async call<M extends keyof HostCalls>(method: M, params: HostCalls[M]["params"], options: CallOptions): Promise<HostCalls[M]["result"]> {
    const deadline = Date.now() + options.timeoutMS
    // Without an await while connected, so that calls leave in the order they are made.
    const send = (connection: Connection) => connection.request(method, params, options.attachment)
    for (let losses = 0; ; ) {
      const { connection } = this
      if (connection?.owes) await this.reach()
      try {
        const pending = connection ? send(connection) : await this.queued(send, deadline, options.signal)
        const answer = await bounded(pending, deadline, options.signal)
        this.answered()
        return answer as HostCalls[M]["result"]
      } catch (err) {
        if (err instanceof RpcError) this.answered()
        if (err instanceof DeadlineExceeded) {
          this.missed(err)
          if (!connection) throw new DeadlineExceeded(this.trouble)
        }
        if (isStopping(err)) {
          this.connection = undefined // another host takes its place, and gets this call and what follows
          continue
        }
        if (!(err instanceof ConnectionClosed) || options.once || ++losses === mostLosses) throw err
        await connection?.closed
      }
    }
  }

  /** Fails, soon, while the host is down: for those to whom the parameters of a call are work. */
  async reach(): Promise<void> {
    const { connection } = this
    if (!connection) return this.down ? this.attempt(() => {}) : undefined
    if (!connection.owes) return
    // A host that is only slow answers the withdrawal of what it was slow with.
    await within(connection.owes.since + signMS - Date.now(), connection.owes.paid)
    if (connection.owes) throw new Error(this.trouble)
  }

  /** Sends a notification in order with the calls. Kept for the next host if there is none, up to a bound. */
  notify<M extends keyof HostNotifications>(method: M, params: HostNotifications[M]): void {
    const send = (connection: Connection) => connection.notify(method, params)
    if (!this.connection?.listens) {
      if (this.outbox.length < longestOutbox) this.outbox.push({ send, fail() {} })
    } else if (this.connection.backlog < longestUnread) {
      send(this.connection)
    }
  }

  /** Ends the host process for good. */
  stop(): void {
    this.stopped = true
    this.wake?.()
    this.child?.stop()
    this.connection?.close(new Error("the shim is done"))
  }

  private async run(): Promise<void> {
    let said = ""
    for (let delay = firstDelayMS; !this.stopped; delay = Math.min(2 * delay, longestDelayMS)) {
      const startedAt = Date.now()
      const failure = await this.serveOnce()
      if (this.stopped) break
      if (this.failures === 0 || Date.now() - startedAt > provenMS) delay = firstDelayMS
      if (failure !== said) this.log.warn("no host", { cause: failure })
      this.lastFailure = said = failure
      if (this.failures >= patience) this.down = true
      if (this.down) this.failOutbox(new Error(failure))
      // Jitter, so that the shims of one user do not restart in step.
      await this.sleep(delay * (0.5 + Math.random() / 2))
    }
    this.failOutbox(new Error("the shim is done"))
  }

  /** Runs one host process to its end and says why it ended. */
  private async serveOnce(): Promise<string> {
    this.failures++
    this.attemptBegan = Date.now()
    let child: Child
    let connection: Connection
    try {
      child = this.start()
      connection = new Connection(child.output, child.input, (method, params, signal) => this.serve(method, params, signal))
    } catch (err) {
      // Nothing to start, so nothing to wait for; it may be installed later.
      this.down = true
      for (const opening of this.openings) opening.giveUp()
      return asError(err).message
    }
    this.child = child
    this.isTrying = true
    void child.ended.then((how) => connection.close(new Error(how)))
    try {
      // Until none is left: directories may be opened meanwhile. No await lies between the last look and admit.
      for (let left; (left = this.unopened(connection)).length > 0; ) {
        await Promise.all(left.map((opening) => this.initialize(connection, opening)))
      }
      this.generation++
      this.isTrying = false
      this.lastFailure = ""
      this.log.info("host connected", { pid: child.pid, generation: this.generation })
      this.admit(connection)
    } catch (err) {
      connection.close(asError(err))
    }
    const reason = await connection.closed
    this.connection = undefined
    this.isTrying = false
    child.stop(brokenGraceMS)
    const how = await child.ended
    return reason instanceof EndOfOutput ? how : reason.message
  }

  /** The host works. */
  private answered(): void {
    this.failures = 0
    this.down = false
  }

  /** The host let a deadline pass: nobody waits for it again before it gives a sign of life. */
  private missed(cause: DeadlineExceeded): void {
    this.down = true
    const { connection } = this
    if (!connection) return
    this.lastFailure = cause.message
    connection.suspect()
    setTimeout(() => {
      if (Date.now() - (connection.owes?.since ?? Infinity) >= silenceMS) connection.close(cause)
    }, silenceMS + 1).unref()
  }

  /** Asks about a directory again, or makes the next attempt to reach the host begin now. */
  private async reopen(opening: OpenDirectory): Promise<InitializeResult | undefined> {
    const { connection } = this
    if (!connection) {
      await this.attempt(() => {}).catch(() => {})
    } else if (!connection.owes) {
      opening.asking ??= this.initialize(connection, opening)
        .catch((err: unknown) => err instanceof DeadlineExceeded && this.missed(err))
        .finally(() => (opening.asking = undefined))
      await within(attemptMS, opening.asking)
    }
    return opening.result
  }

  /** Waits for the attempt to reach the host that is under way or, if none is, for one that begins now. */
  private attempt<T>(send: (connection: Connection) => T, deadline = Infinity, signal?: AbortSignal): Promise<T> {
    if (this.wake) {
      this.attemptBegan = Date.now()
      this.wake()
    }
    const end = Math.min(deadline, this.attemptBegan + attemptMS)
    if (end <= Date.now()) return Promise.reject(new Error(this.trouble))
    return this.enqueue(send, end, signal)
  }

  private unopened(connection: Connection): OpenDirectory[] {
    return [...this.openings].filter((opening) => opening.connection !== connection)
  }

  private async initialize(connection: Connection, opening: OpenDirectory): Promise<void> {
    opening.connection = connection
    try {
      const pending = connection.request(Method.Initialize, opening.params)
      opening.settle(checked((await bounded(pending, Date.now() + initializeTimeoutMS)) as InitializeResult))
    } catch (err) {
      if (!(err instanceof RpcError) || isStopping(err)) throw err
      if (err.code === Code.Version) {
        this.down = true // it speaks to no directory; only another host will
        throw err
      }
      // The host works, only not for this directory; it may after its next restart.
      this.log.warn("directory refused", { directory: opening.params.directory, cause: err.message })
      opening.settle(undefined, err.message)
    }
  }

  private admit(connection: Connection): void {
    this.connection = connection
    for (const letter of this.outbox.splice(0)) {
      try {
        letter.send(connection)
      } catch (err) {
        letter.fail(asError(err))
      }
    }
  }

  /** Sends as soon as there is a connection, in turn. */
  private queued<T>(send: (connection: Connection) => T, deadline: number, signal?: AbortSignal): Promise<T> {
    if (this.stopped) return Promise.reject(new Error(this.trouble))
    return this.down ? this.attempt(send, deadline, signal) : this.enqueue(send, deadline, signal)
  }

  private enqueue<T>(send: (connection: Connection) => T, deadline: number, signal?: AbortSignal): Promise<T> {
    let letter!: Letter
    const answer = new Promise<T>((resolve, reject) => {
      letter = { send: (connection) => resolve(send(connection)), fail: reject }
    })
    this.outbox.push(letter)
    const cancel = (reason: Error) => {
      this.outbox = this.outbox.filter((other) => other !== letter)
      letter.fail(reason)
    }
    return bounded({ answer, cancel }, deadline, signal)
  }

  private failOutbox(reason: Error): void {
    for (const letter of this.outbox.splice(0)) letter.fail(reason)
  }

  /** Hands a request of the host to the instance whose directory it names, or to the one that knows the method. */
  private async serve(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const { directory } = (params ?? {}) as { directory?: string }
    const openings = [...this.openings].filter((o) => directory === undefined || o.params.directory === directory)
    if (openings.length === 0) throw new RpcError(invalidParams, `no open directory ${directory}`)
    for (const { handlers } of openings) {
      const handler = handlers[method as keyof ShimCalls] as ((params: unknown, signal: AbortSignal) => Promise<unknown>) | undefined
      if (handler) return handler(params, signal)
    }
    throw new RpcError(methodNotFound, `this shim has no method ${method}`)
  }

  private sleep(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref()
      this.wake = () => {
        this.wake = undefined
        clearTimeout(timer)
        resolve()
      }
    }).finally(() => (this.wake = undefined))
  }
}

class OpenDirectory implements Opening {
  result: InitializeResult | undefined
  refusal: string | undefined
  /** The connection that was asked last. */
  connection: Connection | undefined
  /** The initialize under way on a connection that serves others already. */
  asking: Promise<unknown> | undefined
  readonly params: InitializeParams
  readonly handlers: Handlers
  readonly close: () => void
  readonly again: () => Promise<InitializeResult | undefined>
  private readonly first: Promise<void>
  private answered!: () => void

  constructor(params: InitializeParams, handlers: Handlers, close: () => void, again: () => Promise<InitializeResult | undefined>) {
    this.params = params
    this.handlers = handlers
    this.close = close
    this.again = again
    this.first = new Promise((resolve) => (this.answered = resolve))
  }

  settle(result: InitializeResult | undefined, refusal?: string): void {
    this.result = result
    this.refusal = refusal
    this.answered()
  }

  /** Ends the wait for the first answer without one. */
  giveUp(): void {
    this.answered()
  }

  async opened(timeoutMS: number): Promise<InitializeResult | undefined> {
    await within(timeoutMS, this.first)
    return this.result
  }
}

/** Waits for something, but not longer than ms. */
async function within(ms: number, something: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, Math.max(0, ms))))
  await Promise.race([something, late])
  clearTimeout(timer)
}

/** Refuses the answer of a host that is too old to refuse us itself. */
function checked(result: InitializeResult): InitializeResult {
  const { protocol, hostVersion, hooks, tools, commands, agents } = result ?? {}
  if (protocol?.major === ProtocolMajor && [hooks, tools, commands, agents].every(Array.isArray)) return result
  const speaks = protocol ? `protocol ${protocol.major}.${protocol.minor}` : "no protocol that we know"
  throw new Error(`magicctx-host ${hostVersion ?? "of unknown version"} speaks ${speaks}, this plugin speaks ${ProtocolMajor}: update magicctx-host`)
}

/** Whether a host refused a call because it is about to end: it has not begun with it. */
function isStopping(err: unknown): boolean {
  return err instanceof RpcError && err.code === Code.Stopping
}

/**
 * The answer of a request, which is withdrawn at the deadline or by the signal.
 * The timer keeps the process alive: nothing else would, while a hook waits.
 */
async function bounded<T>({ answer, cancel }: Pending<T>, deadline: number, signal?: AbortSignal): Promise<T> {
  const timer = setTimeout(() => cancel(new DeadlineExceeded("the host did not answer in time")), Math.max(0, deadline - Date.now()))
  const abort = () => cancel(asError(signal!.reason))
  if (signal?.aborted) abort()
  else signal?.addEventListener("abort", abort, { once: true })
  try {
    return await answer
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", abort)
  }
}
