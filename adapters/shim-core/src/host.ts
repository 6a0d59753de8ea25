import type { Child } from "./child.ts"
import { ConnectionClosed, RpcError, type Connection } from "./connection.ts"
import { bounded, DeadlineExceeded, within } from "./deadline.ts"
import { Directories, Directory, isStopping, type Handlers } from "./directories.ts"
import type { HostCalls, HostNotifications, InitializeParams, InitializeResult } from "./generated/protocol.ts"
import type { Log } from "./log.ts"
import { Outbox } from "./outbox.ts"
import { attemptMS, Supervisor } from "./supervisor.ts"

export interface CallOptions {
  timeoutMS: number
  signal?: AbortSignal
  /** Raw JSON that is sent after the parameters. */
  attachment?: string
  /** Called when the request has been written. From then on, the caller can do other work until the host answers. */
  onSent?: () => void
  /**
   * If the host is lost during the call, the call fails instead of being sent again to the next host. Calls that change
   * something need this, because the lost host may already have made the change.
   */
  once?: boolean
}

/** An open directory, as its plugin instance sees it. */
export interface Opening {
  /** The host's latest answer to initialize; undefined until there is one. */
  readonly result: InitializeResult | undefined
  /** The reason why the host refused the directory, if it did. */
  readonly refusal: string | undefined
  /**
   * Resolves with the host's first answer, or with undefined if there is none within timeoutMS or no host can be
   * started.
   */
  opened(timeoutMS: number): Promise<InitializeResult | undefined>
  /** Asks the host once more whether it serves the directory. Returns soon if the host is known to be down. */
  again(): Promise<InitializeResult | undefined>
  close(): void
}

/**
 * If the host has missed a deadline, it has this long, in ms, to send any bytes. After that, calls fail at once, until
 * bytes arrive.
 */
const awaitBytesMS = 250
/**
 * If this many hosts have died while they ran the same call, the call is not sent again, because it may have killed
 * them.
 */
const mostHosts = 2
/**
 * If a call has lost this many connections, it is not sent again. Unlike mostHosts, this also counts several lost
 * connections to the same host.
 */
const mostLosses = 4
/** How many bytes may wait for a host that does not read, before further notifications are dropped. */
const longestUnread = 16 << 20

/**
 * The interface of a shim to the host. The supervisor runs the process, and this class makes the calls. If a host dies,
 * its waiting calls are sent again to the next host, until their deadlines.
 *
 * If the host is down, calls fail soon, before their own deadlines. The supervisor tries to reach the host in the
 * background, and also with every call.
 */
export class Host {
  readonly #supervisor: Supervisor
  readonly #directories: Directories
  readonly #outbox = new Outbox()

  constructor(start: () => Child, log: Log) {
    this.#directories = new Directories(log)
    this.#supervisor = new Supervisor(start, this.#directories, this.#outbox, log)
  }

  /** Counts the connections. A new connection may lead to a host that has forgotten this shim. */
  get generation(): number {
    return this.#supervisor.generation
  }

  /** The reason why there is no connection, as a sentence for the user. */
  get trouble(): string {
    return this.#supervisor.trouble
  }

  /**
   * Opens a directory, now and on every later connection, until it is closed. Calls `linked` when the directory is open
   * on a new connection, and when that connection is lost. The caller must not assume that the host of a new connection
   * knows this shim.
   */
  open(params: InitializeParams, handlers: Handlers, linked: (isOpen: boolean) => void = () => {}): Opening {
    const directory = new Directory(params, handlers, linked)
    this.#directories.add(directory)
    this.#supervisor.begin()
    const { connection } = this.#supervisor
    // If this connection breaks, the directory is opened on the next connection.
    if (connection) this.#directories.open(connection, directory).then(() => linked(true), () => {})
    return {
      get result() {
        return directory.result
      },
      get refusal() {
        return directory.refusal
      },
      opened: (timeoutMS) => directory.opened(timeoutMS),
      again: () => this.#reopen(directory),
      close: () => this.#directories.remove(directory),
    }
  }

  /**
   * Calls a method and waits for the answer until the deadline. If the host restarts in the meantime, the call is sent
   * again.
   */
  async call<M extends keyof HostCalls>(method: M, params: HostCalls[M]["params"], options: CallOptions): Promise<HostCalls[M]["result"]> {
    const supervisor = this.#supervisor
    const deadline = Date.now() + options.timeoutMS
    const losses = new Losses()
    // While there is a connection that answers, this function sends before its first await, so calls are sent in the
    // order in which they were made.
    const send = (connection: Connection) => {
      const pending = connection.request(method, params, options.attachment, options.onSent)
      losses.sentOn(connection)
      return pending
    }
    for (;;) {
      const { connection } = supervisor
      if (connection?.silence) await this.reach()
      try {
        const pending = connection ? send(connection) : await this.#queued(send, deadline, options.signal)
        const answer = await bounded(pending, deadline, options.signal)
        supervisor.answered()
        return answer as HostCalls[M]["result"]
      } catch (err) {
        if (err instanceof RpcError) supervisor.answered()
        if (err instanceof DeadlineExceeded) {
          supervisor.missed(err)
          if (!connection) throw new DeadlineExceeded(this.trouble)
        }
        if (isStopping(err)) {
          supervisor.retire()
          continue
        }
        if (!(err instanceof ConnectionClosed)) throw err
        if (losses.isLast(options.once ?? false) || Date.now() >= deadline) throw err
        // A call without a connection waited in the queue, and was sent on a connection that opened later. If that
        // connection is broken, wait until it is closed. Otherwise, the next attempt would use it again.
        const broken = connection ?? supervisor.connection
        if (broken && !broken.isWritable) await within(deadline - Date.now(), broken.closed)
      }
    }
  }

  /**
   * Fails soon if the host is down. Callers call it before they prepare expensive parameters, such as a message array.
   */
  async reach(): Promise<void> {
    const { connection, isDown } = this.#supervisor
    if (!connection) return isDown ? this.#attempt(() => {}) : undefined
    if (!connection.silence) return
    // After a missed deadline, the shim withdraws the call. A host that is only slow still answers the withdrawn call,
    // and this answer ends the silence.
    await within(connection.silence.since + awaitBytesMS - Date.now(), connection.silence.ended)
    if (connection.silence) throw new Error(this.trouble)
  }

  /**
   * Sends a notification, in order with the calls. If there is no host, the notification waits for the next host. If
   * too much is waiting already, the notification is dropped.
   */
  notify<M extends keyof HostNotifications>(method: M, params: HostNotifications[M]): void {
    const { connection } = this.#supervisor
    const send = (to: Connection) => to.notify(method, params)
    if (!connection?.isWritable) this.#outbox.addNotification(send)
    else if (connection.backlog < longestUnread) send(connection)
  }

  /** Ends the host process and never starts another. Resolves when the process has ended. */
  stop(graceMS?: number): Promise<void> {
    return this.#supervisor.stop(graceMS)
  }

  /** Asks the host about a directory again. If there is no connection, it first tries at once to reach a host. */
  async #reopen(directory: Directory): Promise<InitializeResult | undefined> {
    const { connection } = this.#supervisor
    if (!connection) {
      await this.#attempt(() => {}).catch(() => {})
    } else if (!connection.silence) {
      directory.asking ??= this.#directories
        .open(connection, directory)
        .catch((err: unknown) => err instanceof DeadlineExceeded && this.#supervisor.missed(err))
        .finally(() => (directory.asking = undefined))
      await within(attemptMS, directory.asking)
    }
    return directory.result
  }

  /** Sends a message as soon as there is a connection. Messages are sent in order. */
  #queued<T>(send: (connection: Connection) => T, deadline: number, signal?: AbortSignal): Promise<T> {
    if (this.#supervisor.isStopped) return Promise.reject(new Error(this.trouble))
    return this.#supervisor.isDown ? this.#attempt(send, deadline, signal) : bounded(this.#outbox.add(send), deadline, signal)
  }

  /**
   * Sends a message as soon as the running attempt has reached the host. If the supervisor waits between two attempts,
   * the next attempt begins now.
   */
  #attempt<T>(send: (connection: Connection) => T, deadline = Infinity, signal?: AbortSignal): Promise<T> {
    const end = Math.min(deadline, this.#supervisor.hurry())
    if (end <= Date.now()) return Promise.reject(new Error(this.trouble))
    return bounded(this.#outbox.add(send), end, signal)
  }
}

/** The connections that a single call has lost. */
class Losses {
  readonly #hosts = new Set<number | Connection>()
  #count = 0
  #sent: Connection | undefined

  sentOn(connection: Connection): void {
    this.#sent = connection
  }

  /**
   * Records that the call has lost its connection. Returns true if the call must not be sent again. A call that was
   * never sent cannot have caused the loss, so it may be sent again. Hosts are counted by process id, because two
   * connections may lead to the same host: right after a host was killed, a new bridge may still connect to it.
   */
  isLast(once: boolean): boolean {
    const sent = this.#sent
    this.#sent = undefined
    if (!sent) return false
    this.#hosts.add(sent.hostPID ?? sent)
    return once || this.#hosts.size >= mostHosts || ++this.#count >= mostLosses
  }
}
