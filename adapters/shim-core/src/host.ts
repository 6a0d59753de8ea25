import type { Child } from "./child.ts"
import { asError, Connection, ConnectionClosed, invalidParams, methodNotFound, RpcError, type Pending } from "./connection.ts"
import {
  Method,
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
  close(): void
}

const initializeTimeoutMS = 10_000
const firstDelayMS = 50
const longestDelayMS = 5_000
/** A host that worked this long has proved itself: the next restart is prompt again. */
const provenMS = 1_000
/** After so many starts in a row that came to nothing, calls no longer wait for the next one. */
const patience = 5
/** With more than this waiting, notifications are no longer kept. */
const longestOutbox = 1000
/** A host that does not read gets no more notifications than this, bytes. */
const longestUnread = 16 << 20

/**
 * The host as a shim sees it: always there, sometimes slow. It starts the
 * process, starts it again when it ends, and opens every directory anew before
 * anything else is sent. Calls under way when a host dies are sent again to the
 * next one, up to their deadlines.
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
  private lastFailure = ""
  private running = false
  private stopped = false
  private wake: (() => void) | undefined

  constructor(start: () => Child, log: Log) {
    this.start = start
    this.log = log
  }

  /** Why there is no connection, in a sentence for the user. */
  get trouble(): string {
    return this.lastFailure || "the host has not answered yet"
  }

  /** Opens a directory, now and on every later connection, until closed. */
  open(params: InitializeParams, handlers: Handlers): Opening {
    const opening = new OpenDirectory(params, handlers, () => this.openings.delete(opening))
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
    for (;;) {
      // Without an await while connected, so that calls leave in the order they are made.
      const send = (connection: Connection) => connection.request(method, params, options.attachment)
      const pending = this.connection ? send(this.connection) : await this.queued(send, deadline, options.signal)
      try {
        return (await bounded(pending, deadline, options.signal)) as HostCalls[M]["result"]
      } catch (err) {
        if (!(err instanceof ConnectionClosed) || options.once) throw err
      }
    }
  }

  /** Sends a notification in order with the calls. Kept for the next host if there is none, up to a bound. */
  notify<M extends keyof HostNotifications>(method: M, params: HostNotifications[M]): void {
    const send = (connection: Connection) => connection.notify(method, params)
    if (!this.connection) {
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
      if (Date.now() - startedAt > provenMS) delay = firstDelayMS
      if (failure !== said) this.log.warn("no host", { cause: failure })
      this.lastFailure = said = failure
      if (this.failures >= patience) this.failOutbox(new Error(failure))
      // Jitter, so that the shims of one user do not restart in step.
      await this.sleep(delay * (0.5 + Math.random() / 2))
    }
    this.failOutbox(new Error("the shim is done"))
  }

  /** Runs one host process to its end and says why it ended. */
  private async serveOnce(): Promise<string> {
    this.failures++
    let child: Child
    let connection: Connection
    try {
      child = this.start()
      connection = new Connection(child.output, child.input, (method, params, signal) => this.serve(method, params, signal))
    } catch (err) {
      // Nothing to start, so nothing to wait for; it may be installed later.
      for (const opening of this.openings) opening.giveUp()
      return (this.lastFailure = asError(err).message)
    }
    this.child = child
    void child.ended.then((how) => connection.close(new Error(how)))
    try {
      // Until none is left: directories may be opened meanwhile. No await lies between the last look and admit.
      for (let left; (left = this.unopened(connection)).length > 0; ) {
        await Promise.all(left.map((opening) => this.initialize(connection, opening)))
      }
      this.failures = 0
      this.generation++
      this.log.info("host connected", { pid: child.pid, generation: this.generation })
      this.admit(connection)
    } catch (err) {
      connection.close(asError(err))
    }
    const reason = await connection.closed
    this.connection = undefined
    child.stop()
    return `${reason.message}; ${await child.ended}`
  }

  private unopened(connection: Connection): OpenDirectory[] {
    return [...this.openings].filter((opening) => opening.connection !== connection)
  }

  private async initialize(connection: Connection, opening: OpenDirectory): Promise<void> {
    opening.connection = connection
    try {
      const pending = connection.request(Method.Initialize, opening.params)
      opening.settle((await bounded(pending, Date.now() + initializeTimeoutMS)) as InitializeResult)
    } catch (err) {
      if (!(err instanceof RpcError)) throw err
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
    if (this.stopped || this.failures > patience) return Promise.reject(new Error(this.trouble))
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
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref()
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

class OpenDirectory implements Opening {
  result: InitializeResult | undefined
  refusal: string | undefined
  /** The connection that was asked last. */
  connection: Connection | undefined
  readonly params: InitializeParams
  readonly handlers: Handlers
  readonly close: () => void
  private readonly first: Promise<void>
  private answered!: () => void

  constructor(params: InitializeParams, handlers: Handlers, close: () => void) {
    this.params = params
    this.handlers = handlers
    this.close = close
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
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMS)))
    await Promise.race([this.first, late])
    clearTimeout(timer)
    return this.result
  }
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
