import { invalidParams, methodNotFound, RpcError, type Connection } from "./connection.ts"
import { bounded, within } from "./deadline.ts"
import { Code, Method, ProtocolMajor, type InitializeParams, type InitializeResult, type SessionStatus, type ShimCalls } from "./generated/protocol.ts"
import type { Log } from "./log.ts"

/**
 * The methods that the host may call on a plugin instance. If a method is missing, the instance does not support it.
 */
export type Handlers = {
  [M in keyof ShimCalls]?: (params: ShimCalls[M]["params"], signal: AbortSignal) => Promise<ShimCalls[M]["result"]>
} & {
  /** If the instance has subscribed to a session, it gets the session's status after each pass and each answer. */
  [Method.SessionChanged]?: (status: SessionStatus) => void
}

const initializeTimeoutMS = 10_000

/** An open directory of this process, and the host's latest answer about it. */
export class Directory {
  /** The host's latest answer to initialize; undefined until there is one. */
  result: InitializeResult | undefined
  /** The reason why the host refused the directory, if it did. */
  refusal: string | undefined
  /** The connection on which the directory was last opened. */
  connection: Connection | undefined
  /** The running initialize call that asks the host about this directory again; undefined if there is none. */
  asking: Promise<unknown> | undefined
  readonly params: InitializeParams
  readonly handlers: Handlers
  /** Called when the directory is open on a new connection, and when that connection is lost. */
  readonly linked: (isOpen: boolean) => void
  readonly #first: Promise<void>
  #endFirstWait!: () => void

  constructor(params: InitializeParams, handlers: Handlers, linked: (isOpen: boolean) => void) {
    this.params = params
    this.handlers = handlers
    this.linked = linked
    this.#first = new Promise((resolve) => (this.#endFirstWait = resolve))
  }

  /** Records the host's answer: either its result, or the reason why it refused the directory. */
  settle(result: InitializeResult | undefined, refusal?: string): void {
    this.result = result
    this.refusal = refusal
    this.#endFirstWait()
  }

  /** Ends the wait for the first answer, without an answer. */
  giveUp(): void {
    this.#endFirstWait()
  }

  /**
   * Resolves with the host's first answer. If no answer comes within timeoutMS, or no host can be started, it
   * resolves with undefined.
   */
  async opened(timeoutMS: number): Promise<InitializeResult | undefined> {
    await within(timeoutMS, this.#first)
    return this.result
  }
}

/** The open directories of this process. Each of them is opened on every new connection. */
export class Directories {
  readonly #all = new Set<Directory>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  add(directory: Directory): void {
    this.#all.add(directory)
  }

  remove(directory: Directory): void {
    this.#all.delete(directory)
  }

  /** The directories that are not open on this connection yet. */
  unopened(connection: Connection): Directory[] {
    return [...this.#all].filter((directory) => directory.connection !== connection)
  }

  /**
   * Opens a directory on a connection. If the host works but refuses this directory, open records the refusal and
   * does not throw.
   */
  async open(connection: Connection, directory: Directory): Promise<void> {
    directory.connection = connection
    try {
      const pending = connection.request(Method.Initialize, directory.params)
      const result = checked((await bounded(pending, Date.now() + initializeTimeoutMS)) as InitializeResult)
      connection.hostPID = result.hostPid
      directory.settle(result)
    } catch (err) {
      if (!(err instanceof RpcError) || isStopping(err) || isOtherProtocol(err)) throw err
      // The host works, but refuses this directory. After the next restart, the host may accept the directory.
      this.#log.warn("directory refused", { directory: directory.params.directory, cause: err.message })
      directory.settle(undefined, err.message)
    }
  }

  /** Ends all waits for a first answer, because no host can be started. */
  giveUp(): void {
    for (const directory of this.#all) directory.giveUp()
  }

  /** Tells all instances that a connection was opened or lost. */
  tell(isOpen: boolean): void {
    for (const { linked } of this.#all) linked(isOpen)
  }

  /** Passes a notification of the host to all instances. */
  notify(method: string, params: unknown): void {
    if (method !== Method.SessionChanged) return
    for (const { handlers } of this.#all) handlers[Method.SessionChanged]?.(params as SessionStatus)
  }

  /**
   * Passes a request of the host to a plugin instance. If the request names a directory, it goes to an instance of this
   * directory. Otherwise, any instance that supports the method answers.
   */
  async serve(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const { directory } = (params ?? {}) as { directory?: string }
    const addressed = [...this.#all].filter((open) => directory === undefined || open.params.directory === directory)
    if (addressed.length === 0) throw new RpcError(invalidParams, `no open directory ${directory}`)
    for (const { handlers } of addressed) {
      const handler = handlers[method as keyof ShimCalls] as ((params: unknown, signal: AbortSignal) => Promise<unknown>) | undefined
      if (handler) return handler(params, signal)
    }
    throw new RpcError(methodNotFound, `this shim has no method ${method}`)
  }
}

/**
 * Throws if the host speaks another protocol. A newer host refuses an older shim by itself, but an older host does
 * not refuse a newer shim. So the shim must check, too.
 */
function checked(result: InitializeResult): InitializeResult {
  const { protocol, hostVersion, hooks, tools, commands, agents } = result ?? {}
  if (protocol?.major === ProtocolMajor && [hooks, tools, commands, agents].every(Array.isArray)) return result
  const speaks = protocol ? `protocol ${protocol.major}.${protocol.minor}` : "an unknown protocol"
  throw new Error(`magicctx-host ${hostVersion ?? "of unknown version"} speaks ${speaks}, this plugin speaks ${ProtocolMajor}: update magicctx-host`)
}

/** True if the host refused or interrupted a call because the host is about to end. The next host can get the call. */
export function isStopping(err: unknown): boolean {
  return err instanceof RpcError && err.code === Code.Stopping
}

/**
 * True if the host refused this shim because of its protocol version. It does not help to ask the same host again.
 */
export function isOtherProtocol(err: unknown): boolean {
  return err instanceof RpcError && err.code === Code.Version
}
