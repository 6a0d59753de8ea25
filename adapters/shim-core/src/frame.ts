import { MaxAttachmentBytes, MaxBodyBytes } from "./generated/protocol.ts"

/** A frame: a JSON-RPC body, with an optional attachment of raw JSON that the RPC layer does not decode. */
export interface Frame {
  body: string
  attachment?: Buffer
}

export class FrameError extends Error {
  override name = "FrameError"
}

/** Returns the bytes of a frame. It is one buffer, because each write to a pipe costs time in Bun and in the kernel. */
export function encodeFrame(body: string, attachment?: string): Buffer {
  const bodyBytes = Buffer.byteLength(body)
  if (bodyBytes > MaxBodyBytes) throw new FrameError(`a body of ${bodyBytes} bytes; ${MaxBodyBytes} are allowed`)
  let header = `Content-Length: ${bodyBytes}\r\n`
  let attachedBytes = 0
  if (attachment !== undefined) {
    attachedBytes = Buffer.byteLength(attachment)
    if (attachedBytes > MaxAttachmentBytes) throw new FrameError(`an attachment of ${attachedBytes} bytes; ${MaxAttachmentBytes} are allowed`)
    header += `Attachment-Length: ${attachedBytes}\r\n`
  }
  header += "\r\n"
  const frame = Buffer.allocUnsafe(header.length + bodyBytes + attachedBytes)
  frame.write(header, 0, "latin1")
  frame.write(body, header.length)
  if (attachment) frame.write(attachment, header.length + bodyBytes)
  return frame
}

const headerEnd = Buffer.from("\r\n\r\n")
const maxHeaderBytes = 1024

/** Cuts a byte stream into frames. However small the chunks are, each byte is copied at most once. */
export class FrameReader {
  #chunks: Buffer[] = []
  #size = 0
  #pending: ReturnType<typeof parseHeader> | undefined
  readonly #onFrame: (frame: Frame) => void

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame
  }

  /**
   * Adds a chunk, and calls onFrame with each frame that is now complete. Throws FrameError if the bytes are not valid
   * frames.
   */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#step());
  }

  #step(): boolean {
    this.#pending ??= this.#readHeader()
    if (!this.#pending) return false
    const { body, attachment } = this.#pending
    if (this.#size < body + (attachment ?? 0)) return false
    this.#pending = undefined
    const frame: Frame = { body: this.#take(body).toString("utf8") }
    if (attachment !== undefined) frame.attachment = this.#take(attachment)
    this.#onFrame(frame)
    return true
  }

  #readHeader(): ReturnType<typeof parseHeader> | undefined {
    if (this.#size === 0) return undefined
    // Usually, the first chunk contains the whole header. If it does not, the chunks are joined, which is cheap,
    // because a header is small.
    let end = this.#chunks[0]!.indexOf(headerEnd)
    if (end < 0 && this.#chunks.length > 1) {
      this.#chunks = [Buffer.concat(this.#chunks, this.#size)]
      end = this.#chunks[0]!.indexOf(headerEnd)
    }
    if (end < 0) {
      if (this.#size > maxHeaderBytes) throw new FrameError(`the header does not end within ${maxHeaderBytes} bytes`)
      return undefined
    }
    const text = this.#take(end + headerEnd.length).toString("latin1")
    return parseHeader(text)
  }

  /** Removes and returns the next `count` bytes, which must have arrived. */
  #take(count: number): Buffer {
    this.#size -= count
    const first = this.#chunks[0]
    if (first && first.length >= count) {
      if (first.length === count) this.#chunks.shift()
      else this.#chunks[0] = first.subarray(count)
      return first.subarray(0, count)
    }
    const parts: Buffer[] = []
    let used = 0
    let missing = count
    while (missing > 0) {
      const chunk = this.#chunks[used]!
      const part = chunk.length <= missing ? chunk : chunk.subarray(0, missing)
      parts.push(part)
      missing -= part.length
      if (part.length === chunk.length) used++
      else this.#chunks[used] = chunk.subarray(part.length)
    }
    this.#chunks.splice(0, used)
    return Buffer.concat(parts, count)
  }
}

function parseHeader(text: string): { body: number; attachment: number | undefined } {
  let body: number | undefined
  let attachment: number | undefined
  for (const line of text.split("\r\n")) {
    const colon = line.indexOf(":")
    if (colon < 0) continue
    const name = line.slice(0, colon).trim().toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (name === "content-length") body = length(value, MaxBodyBytes, line)
    else if (name === "attachment-length") attachment = length(value, MaxAttachmentBytes, line)
  }
  if (body === undefined) throw new FrameError(`no Content-Length in ${JSON.stringify(text)}`)
  return { body, attachment }
}

function length(value: string, limit: number, line: string): number {
  const n = /^\d+$/.test(value) ? Number(value) : NaN
  if (!(n <= limit)) throw new FrameError(`bad header ${JSON.stringify(line)}`)
  return n
}
