import type { Readable, Writable } from "node:stream"
import { encodeFrame, FrameReader, type Frame } from "./frame.ts"
import { Method } from "./generated/protocol.ts"

/** An error answer of the other end. */
export class RpcError extends Error {
  override name = "RpcError"
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The connection was closed before the answer came. */
export class ConnectionClosed extends Error {
  override name = "ConnectionClosed"
}

/**
 * The other end has closed its output, but has not said why. Its exit code or signal, which the shim learns a moment
 * later, may be a better reason.
 */
export class EndOfOutput extends Error {
  override name = "EndOfOutput"
}

/** Error codes of JSON-RPC 2.0. */
export const methodNotFound = -32601
export const invalidParams = -32602
export const internalError = -32603

/**
 * The shim pads attachments with spaces to this length, in bytes. Bun 1.3 delays a write of less than 4096 bytes until
 * the next turn of its event loop. In a pass, that turn begins only after the shim has compared the whole array, so the
 * host would get a short request late. Node writes at once.
 */
const writtenAtOnce = "Bun" in globalThis ? 4096 : 0

/** How long the connection waits for the last answers of the other end after that end has stopped reading, in ms. */
const lastAnswersMS = 1000

/** Answers a request of the other end. If it throws an RpcError, the answer contains that error's code. */
export type RequestHandler = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>

/** A request that waits for its answer. */
export interface Pending<T = unknown> {
  readonly answer: Promise<T>
  /** Withdraws the request: tells the other end, and makes `answer` fail with the reason. */
  cancel(reason: Error): void
}

/** The other end has missed a deadline, and has sent no bytes since then. */
export interface Silence {
  /** When the silence began, in ms of the clock. */
  readonly since: number
  /** Resolves when the next bytes arrive. */
  readonly ended: Promise<void>
}

interface Message {
  id?: number | string | null
  method?: string
  params?: unknown
  result?: unknown
  error?: { code: number; message: string }
}

interface Settle {
  resolve(result: unknown): void
  reject(reason: Error): void
}

/** A JSON-RPC 2.0 conversation over a pair of streams. It ends after close, or when the input ends or fails. */
export class Connection {
  /** Resolves when the connection is gone. Never rejects. */
  readonly closed: Promise<Error>
  /** The process id of the host, once the host has reported it. The direct child may be a bridge to the host. */
  hostPID: number | undefined
  readonly #output: Writable
  readonly #onRequest: RequestHandler
  readonly #onNotification: (method: string, params: unknown) => void
  readonly #calls = new Map<number, Settle>()
  readonly #serving = new Map<number | string, AbortController>()
  #nextID = 1
  #silent: (Silence & { end(): void }) | undefined
  /** The reason why the connection is closed. */
  #closedBy: Error | undefined
  /** The reason why nothing can be written. Answers may still arrive. */
  #writeError: Error | undefined
  #markClosed!: (reason: Error) => void

  constructor(input: Readable, output: Writable, onRequest: RequestHandler, onNotification: (method: string, params: unknown) => void = () => {}) {
    this.#output = output
    this.#onRequest = onRequest
    this.#onNotification = onNotification
    this.closed = new Promise((resolve) => (this.#markClosed = resolve))
    const reader = new FrameReader((frame) => this.#receive(frame))
    input.on("data", (chunk: Buffer) => {
      if (this.#closedBy) return
      this.#silent?.end()
      this.#silent = undefined
      try {
        reader.push(chunk)
      } catch (err) {
        this.close(new Error(`the host sent bytes that are not the protocol: ${asError(err).message}`))
      }
    })
    input.on("end", () => this.close(new EndOfOutput("the host closed its output")))
    input.on("error", (err) => this.close(err))
    output.on("error", (err) => this.#waitForLastAnswers(err))
  }

  /**
   * Sends a request. The attachment is raw JSON, which is sent after the body. onSent is called when the last byte is
   * written. If the request cannot be sent, request throws.
   */
  request(method: string, params: unknown, attachment?: string, onSent?: () => void): Pending {
    const id = this.#nextID++
    this.#send({ id, method, params }, attachment, onSent)
    const answer = new Promise<unknown>((resolve, reject) => this.#calls.set(id, { resolve, reject }))
    const cancel = (reason: Error) => {
      const call = this.#calls.get(id)
      if (!this.#calls.delete(id)) return
      if (this.isWritable) this.#send({ method: Method.Cancel, params: { id } })
      call!.reject(reason)
    }
    return { answer, cancel }
  }

  /** Sends a notification. Throws if it cannot be sent. */
  notify(method: string, params: unknown): void {
    this.#send({ method, params })
  }

  /** Whether a message that is sent now can arrive. */
  get isWritable(): boolean {
    return !this.#closedBy && !this.#writeError
  }

  /** The silence of the other end, if it has missed a deadline and has sent no bytes since. */
  get silence(): Silence | undefined {
    return this.#silent
  }

  /** Records that the other end has missed a deadline. Any bytes that it sends end the silence. */
  beginSilence(): void {
    if (this.#silent) return
    let end!: () => void
    const ended = new Promise<void>((resolve) => (end = resolve))
    this.#silent = { since: Date.now(), ended, end }
  }

  /** The number of bytes that wait for the other end to read. */
  get backlog(): number {
    return this.#output.writableLength
  }

  /** Ends the conversation. All requests that wait for an answer fail, and all requests being served are aborted. */
  close(reason: Error): void {
    if (this.#closedBy) return
    this.#closedBy = reason
    const failed = new ConnectionClosed(reason.message)
    for (const call of this.#calls.values()) call.reject(failed)
    this.#calls.clear()
    for (const abort of this.#serving.values()) abort.abort(failed)
    this.#serving.clear()
    this.#markClosed(reason)
  }

  /**
   * Called when the other end has stopped reading. Its last answers may still arrive. If the shim did not wait for
   * them, it would send the request for a pass again, and the host would run a second pass.
   */
  #waitForLastAnswers(broken: Error): void {
    if (!this.isWritable) return
    this.#writeError = broken
    setTimeout(() => this.close(broken), lastAnswersMS).unref()
  }

  #send(message: Message, attachment?: string, onSent?: () => void): void {
    const lost = this.#closedBy ?? this.#writeError
    if (lost) throw new ConnectionClosed(lost.message)
    const frame = encodeFrame(JSON.stringify({ jsonrpc: "2.0", ...message }), attachment?.padEnd(writtenAtOnce))
    this.#output.write(frame, (err) => err || onSent?.())
  }

  #receive(frame: Frame): void {
    const message = JSON.parse(frame.body) as Message
    if (typeof message !== "object" || message === null) throw new Error("a frame holds no message")
    if (message.method === undefined) this.#settle(message)
    else if (message.id !== undefined && message.id !== null) void this.#serve(message.id, message.method, message.params)
    else if (message.method === Method.Cancel) this.#serving.get((message.params as { id: number }).id)?.abort()
    else this.#onNotification(message.method, message.params)
  }

  #settle({ id, result, error }: Message): void {
    const call = this.#calls.get(id as number)
    if (!call) return // the request was withdrawn
    this.#calls.delete(id as number)
    if (error) call.reject(new RpcError(error.code, error.message))
    else call.resolve(result)
  }

  async #serve(id: number | string, method: string, params: unknown): Promise<void> {
    const abort = new AbortController()
    this.#serving.set(id, abort)
    let answer: Message
    try {
      answer = { id, result: (await this.#onRequest(method, params, abort.signal)) ?? {} }
    } catch (err) {
      answer = { id, error: { code: err instanceof RpcError ? err.code : internalError, message: asError(err).message } }
    }
    this.#serving.delete(id)
    if (!this.isWritable) return
    try {
      this.#send(answer)
    } catch (err) {
      if (this.isWritable) this.#send({ id, error: { code: internalError, message: asError(err).message } })
    }
  }
}

export function asError(err: unknown): Error {
  return err instanceof Error ? err : new Error(String(err))
}
