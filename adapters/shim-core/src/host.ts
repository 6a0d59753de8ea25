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

/** A plugin instance's answers to the host's requests. A method that is missing here is unknown to the instance. */
export type Handlers = {
  [M in keyof ShimCalls]?: (params: ShimCalls[M]["params"], signal: AbortSignal) => Promise<ShimCalls[M]["result"]>
}

export interface CallOptions {
  timeoutMS: number
  signal?: AbortSignal
  /** Raw JSON that travels beside the parameters. */
  attachment?: string
  /** Fail instead of sending the call again to the next host. For calls that have effects. */
  once?: boolean
}

/** A call missed its deadline. */
export class DeadlineExceeded extends Error {
  override name = "DeadlineExceeded"
}

/** A message that waits for a connection. */
interface Letter {
  send(connection: Connection): void
  fail(reason: Error): void
}

/** An open directory of this process. */
export interface Opening {
  /** The host's latest answer to initialize; undefined until there is one. */
  readonly result: InitializeResult | undefined
  /** The reason why the host refused the directory, if it did. */
  readonly refusal: string | undefined
  /** Resolves with the first answer. Resolves with undefined if timeoutMS have passed or no host can be started. */
  opened(timeoutMS: number): Promise<InitializeResult | undefined>
  /** Asks the host again whether it serves the directory now. Returns soon if the host is known to be down. */
  again(): Promise<InitializeResult | undefined>
  close(): void
}

const initializeTimeoutMS = 10_000
const firstDelayMS = 50
const longestDelayMS = 5_000
/** A host that worked this long counts as healthy: if it ends, the next restart comes soon. */
const provenMS = 1_000
/** After this many failed starts in a row the host counts as down. */
const patience = 5
/** How long a call waits for a host that is down, in ms, counted from the start of the attempt to reach it. */
const attemptMS = 1_000
/** How long after a missed deadline calls wait for a sign of life, in ms. */
const signMS = 250
/** If no sign of life comes this long after a missed deadline, in ms, the connection is given up. */
const silenceMS = 10_000
/** A call is not sent again once this many hosts have ended with it: the call may be the cause. */
const mostHosts = 2
/** A call is not sent again once it has lost this many connections, even if they led to one host that is ending. */
const mostLosses = 4
/** How long the process of a broken connection may take to end, in ms. */
const brokenGraceMS = 200
/** How many messages may wait for a connection before further notifications are dropped. */
const longestOutbox = 1000
/** How many bytes may wait for a host that does not read, before further notifications are dropped. */
const longestUnread = 16 << 20

/**
 * The host as a shim sees it: always there, sometimes slow. This class starts the process, and starts it again when
 * it ends. It opens every directory on the new host before it sends anything else. Calls that were waiting when a
 * host died are sent again to the next host, until their deadlines.
 *
 * A host counts as down after several failed starts, or after a missed deadline. Calls then fail at once instead of
 * waiting for their own deadlines. The host counts as up again with its next answer. Until then this class tries to
 * reach it in the background and with every call.
 */
export class Host {
  /** Counts the connections. A new connection may lead to a host that has forgotten this shim. */
  generation = 0
  private readonly start: () => Child
  private readonly log: Log
  private readonly openings = new Set<OpenDirectory>()
  private connection: Connection | undefined
  private child: Child | undefined
  /** The messages that wait for a connection, in the order of sending. */
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

  /** The reason why there is no connection, as a sentence for the user. */
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
      // If the connection breaks here, the directory is opened on the next one.
      this.initialize(this.connection, opening).catch(() => {})
    }
    return opening
  }

  /** Calls a method and waits for the answer, across restarts, until the deadline. */
  async call<M extends keyof HostCalls>(method: M, params: HostCalls[M]["params"], options: CallOptions): Promise<HostCalls[M]["result"]> {
    const deadline = Date.now() + options.timeoutMS
    const lost = new Losses()
    // There is no await while connected, so that calls leave in the order in which they are made.
    const send = (connection: Connection) => {
      const pending = connection.request(method, params, options.attachment)
      lost.sentOn(connection)
      return pending
    }
    for (;;) {
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
          this.connection = undefined // another host takes its place, and gets this call and all later ones
          continue
        }
        if (!(err instanceof ConnectionClosed)) throw err
        if (lost.again(options.once ?? false) || Date.now() >= deadline) throw err
        // The call may have been queued for a connection that is here by now, and broken.
        const broken = connection ?? this.connection
        if (broken && !broken.listens) await within(deadline - Date.now(), broken.closed)
      }
    }
  }

  /** Fails soon if the host is down. For callers that would otherwise prepare the parameters of a call in vain. */
  async reach(): Promise<void> {
    const { connection } = this
    if (!connection) return this.down ? this.attempt(() => {}) : undefined
    if (!connection.owes) return
    // A host that is merely slow will answer the withdrawn request.
    await within(connection.owes.since + signMS - Date.now(), connection.owes.paid)
    if (connection.owes) throw new Error(this.trouble)
  }

  /** Sends a notification, in order with the calls. If there is no host, it waits for the next one, up to a bound. */
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
      // The jitter keeps the shims of one user from restarting at the same moments.
      await this.sleep(delay * (0.5 + Math.random() / 2))
    }
    this.failOutbox(new Error("the shim is done"))
  }

  /** Runs one host process to its end. Returns the reason why it ended. */
  private async serveOnce(): Promise<string> {
    this.failures++
    this.attemptBegan = Date.now()
    let child: Child
    let connection: Connection
    try {
      child = this.start()
      connection = new Connection(child.output, child.input, (method, params, signal) => this.serve(method, params, signal))
    } catch (err) {
      // No executable was found, so there is nothing to wait for. It may be installed later.
      this.down = true
      for (const opening of this.openings) opening.giveUp()
      return asError(err).message
    }
    this.child = child
    this.isTrying = true
    void child.ended.then((how) => connection.close(new Error(how)))
    try {
      // This repeats until no directory is left, because directories may be opened meanwhile. There is no await
      // between the last check and admit.
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

  /** The host missed a deadline. Nobody waits for it again before it gives a sign of life. */
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

  /** Asks about a directory again. Without a connection it makes the next attempt to reach the host begin now. */
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

  /** Waits for the running attempt to reach the host. If there is none, it starts one. */
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
      const result = checked((await bounded(pending, Date.now() + initializeTimeoutMS)) as InitializeResult)
      connection.hostPID = result.hostPid
      opening.settle(result)
    } catch (err) {
      if (!(err instanceof RpcError) || isStopping(err)) throw err
      if (err.code === Code.Version) {
        this.down = true // this host serves no directory at all, so only another host can help
        throw err
      }
      // The host works, but not for this directory. It may serve it after its next restart.
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

  /** Sends as soon as there is a connection, in order. */
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

  /**
   * Hands a request of the host to the instance whose directory it names. Without a directory, any instance that
   * knows the method answers.
   */
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

/** The connections that one call has lost. */
class Losses {
  private readonly hosts = new Set<number | Connection>()
  private count = 0
  private sent: Connection | undefined

  sentOn(connection: Connection): void {
    this.sent = connection
  }

  /**
   * Notes that the call has lost its connection. Returns whether the call must not be sent again. A call that was never
   * sent is not the cause of the loss. A bridge that starts right after its host was killed may reach that same host
   * once more; then one host has ended, not two.
   */
  again(once: boolean): boolean {
    const { sent } = this
    this.sent = undefined
    if (!sent) return false
    this.hosts.add(sent.hostPID ?? sent)
    return once || this.hosts.size >= mostHosts || ++this.count >= mostLosses
  }
}

class OpenDirectory implements Opening {
  result: InitializeResult | undefined
  refusal: string | undefined
  /** The connection that was asked last. */
  connection: Connection | undefined
  /** The running initialize on a connection that already serves other directories. */
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

/** Refuses the answer of a host that is too old to refuse this shim itself. */
function checked(result: InitializeResult): InitializeResult {
  const { protocol, hostVersion, hooks, tools, commands, agents } = result ?? {}
  if (protocol?.major === ProtocolMajor && [hooks, tools, commands, agents].every(Array.isArray)) return result
  const speaks = protocol ? `protocol ${protocol.major}.${protocol.minor}` : "no protocol that we know"
  throw new Error(`magicctx-host ${hostVersion ?? "of unknown version"} speaks ${speaks}, this plugin speaks ${ProtocolMajor}: update magicctx-host`)
}

/** Whether a host refused a call because it is about to end. It has not started that call. */
function isStopping(err: unknown): boolean {
  return err instanceof RpcError && err.code === Code.Stopping
}

/**
 * Returns the answer of a request. At the deadline, or when the signal aborts, it withdraws the request. The timer
 * keeps the process alive, because nothing else would while a hook waits.
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
