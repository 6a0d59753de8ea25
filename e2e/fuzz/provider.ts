import type { Message, Part } from "./opencode.ts"

/**
 * Plays the providers: their models, the conversion of an array to a request, the tokens, and the cache. It knows
 * nothing about magicctx.
 */

export type Family = "anthropic" | "openai" | "compatible"

export interface Model {
  provider: string
  id: string
  npm: string
  family: Family
  /** The key of the signature in a reasoning part's metadata. Undefined if the provider does not sign reasoning. */
  proof: "anthropic" | "bedrock" | "openai" | undefined
  /** Whether thinking is bound to everything before it in its request. */
  binds: boolean
  /** How long an unused prefix stays cached, in ms. */
  cacheMS: number
  cost: { input: number; output: number; cache: { read: number; write: number } }
}

const minute = 60_000
const anthropic = { family: "anthropic", proof: "anthropic", cacheMS: 5 * minute, cost: { input: 3, output: 15, cache: { read: 0.3, write: 3.75 } } } as const

export const models: readonly Model[] = [
  { provider: "anthropic", id: "claude-sonnet-4-5", npm: "@ai-sdk/anthropic", binds: false, ...anthropic },
  { provider: "anthropic", id: "claude-opus-4-6", npm: "@ai-sdk/anthropic", binds: false, ...anthropic },
  { provider: "anthropic", id: "claude-fable-5-1", npm: "@ai-sdk/anthropic", binds: true, ...anthropic },
  { provider: "google-vertex-anthropic", id: "claude-sonnet-4-5@20250929", npm: "@ai-sdk/google-vertex/anthropic", binds: false, ...anthropic },
  { provider: "amazon-bedrock", id: "anthropic.claude-sonnet-4-5-20250929-v1:0", npm: "@ai-sdk/amazon-bedrock", binds: false, ...anthropic, proof: "bedrock" },
  { provider: "amazon-bedrock", id: "anthropic.claude-fable-5-1-v1:0", npm: "@ai-sdk/amazon-bedrock", binds: true, ...anthropic, proof: "bedrock" },
  {
    provider: "openai", id: "gpt-5.2", npm: "@ai-sdk/openai", family: "openai", proof: "openai", binds: false, cacheMS: 10 * minute,
    cost: { input: 1.25, output: 10, cache: { read: 0.125, write: 0 } },
  },
  {
    provider: "lmstudio", id: "qwen3-coder", npm: "@ai-sdk/openai-compatible", family: "compatible", proof: undefined, binds: false, cacheMS: 10 * minute,
    cost: { input: 0, output: 0, cache: { read: 0, write: 0 } },
  },
]

export interface Block {
  kind: "text" | "thinking" | "call" | "result" | "image"
  text: string
  id: string
  name: string
  input: string
  /** The proof that the model itself wrote the thinking. */
  signature: string
  isError: boolean
  /** The message and the part from which the block was made. */
  message: string
  part: string
}

export interface Turn {
  role: "user" | "assistant"
  blocks: Block[]
}

export interface Request {
  system: string
  turns: Turn[]
}

/** The size of the tool definitions. Together with the system prompt, it is the size of a request without messages. */
export const toolBytes = 4000

/** The signature of a reasoning part, from any provider. Empty if there is none. */
export function signatureOf(part: Part): string {
  const metadata = part.metadata as Record<string, Record<string, string> | undefined> | undefined
  if (!metadata) return ""
  for (const proof of Object.values(metadata)) {
    const found = proof?.signature ?? proof?.redactedData ?? proof?.itemId
    if (found !== undefined) return found
  }
  return ""
}

/** True if OpenCode never sends this message. */
export function isHidden({ info, parts }: Message): boolean {
  if (info.role !== "assistant" || !info.error) return false
  if (info.error.name !== "MessageAbortedError") return true
  return !parts.some((part) => part.type !== "step-start" && part.type !== "reasoning")
}

export function convert(messages: readonly Message[], model: Model): Turn[] {
  const turns: Turn[] = []
  const add = (role: Turn["role"], blocks: Block[]) => {
    if (blocks.length === 0) return
    const last = turns.at(-1)
    // Anthropic's API joins neighbouring messages of one role. Other APIs do not.
    if (last?.role === role && model.family === "anthropic") last.blocks.push(...blocks)
    else turns.push({ role, blocks })
  }
  for (const message of messages) {
    if (isHidden(message)) continue
    if (message.info.role === "user") add("user", userBlocks(message))
    else {
      const { said, results } = assistantBlocks(message, model)
      add("assistant", said)
      add("user", results)
    }
  }
  return turns
}

function blockOf(message: Message, part: Part, kind: Block["kind"], more: Partial<Block> = {}): Block {
  return { kind, text: "", id: "", name: "", input: "", signature: "", isError: false, message: message.info.id, part: part.id ?? "", ...more }
}

function userBlocks(message: Message): Block[] {
  const blocks: Block[] = []
  for (const part of message.parts) {
    if (part.type === "text" && !part.ignored && part.text !== "") blocks.push(blockOf(message, part, "text", { text: part.text! }))
    if (part.type === "compaction") blocks.push(blockOf(message, part, "text", { text: "What did we do so far?" }))
    if (part.type === "file" && part.mime !== "text/plain" && part.mime !== "application/x-directory") blocks.push(blockOf(message, part, "image", { text: part.url! }))
  }
  return blocks
}

function assistantBlocks(message: Message, model: Model): { said: Block[]; results: Block[] } {
  const said: Block[] = []
  const results: Block[] = []
  const isOurs = message.info.providerID === model.provider && message.info.modelID === model.id
  const isSigned = message.parts.some((part) => part.type === "reasoning" && signatureOf(part) !== "")
  for (const part of message.parts) {
    switch (part.type) {
      case "text":
        if (part.text !== "") said.push(blockOf(message, part, "text", { text: part.text! }))
        else if (isSigned && isOurs && model.family === "anthropic") said.push(blockOf(message, part, "text", { text: " " }))
        break
      case "reasoning": {
        const signature = signatureOf(part)
        if (!isOurs) {
          if (part.text!.trim() !== "") said.push(blockOf(message, part, "text", { text: part.text! }))
        } else if (signature !== "" || (model.family === "compatible" && part.text !== "")) {
          said.push(blockOf(message, part, "thinking", { text: part.text!, signature }))
        }
        break
      }
      case "tool": {
        const state = part.state!
        said.push(blockOf(message, part, "call", { id: part.callID!, name: part.tool!, input: JSON.stringify(state.input) }))
        results.push(blockOf(message, part, "result", { id: part.callID!, ...outputOf(state) }))
        break
      }
    }
  }
  return { said, results }
}

function outputOf(state: NonNullable<Part["state"]>): { text: string; isError: boolean } {
  switch (state.status) {
    case "completed":
      if (state.time?.compacted) return { text: "[Old tool result content cleared]", isError: false }
      return { text: state.output ?? "", isError: false }
    case "error":
      if (state.metadata?.interrupted && typeof state.metadata.output === "string") return { text: state.metadata.output, isError: false }
      return { text: state.error ?? "", isError: true }
    default:
      return { text: "[Tool execution was interrupted]", isError: true }
  }
}

const imageBytes = 3000

/** The bytes of a block that count as tokens. */
function bytesOf(block: Block): number {
  if (block.kind === "image") return imageBytes
  return Buffer.byteLength(block.text) + block.signature.length + Buffer.byteLength(block.input) + block.name.length + 16
}

export function bytesIn(turns: readonly Turn[]): number {
  return turns.reduce((all, { blocks }) => blocks.reduce((sum, block) => sum + bytesOf(block), all), 0)
}

/**
 * Returns the size of a prompt with the system prompt and the tools of `chain`. The function `isCovered` tells whether
 * the head replaces a message. The function `kept` returns the size of a message on the wire, or undefined if the
 * message is sent raw.
 */
export function promptBytes(raw: readonly Turn[], ids: Iterable<string>, chain: Chain, headBytes: number, isCovered: (id: string) => boolean, kept: (id: string) => { bytes: number } | undefined): number {
  let sum = headBytes + chain.bytes - chain.blocks.reduce((all, { bytes }) => all + bytes, 0)
  for (const id of ids) if (!isCovered(id)) sum += kept(id)?.bytes ?? 0
  for (const { blocks } of raw) for (const block of blocks) if (!isCovered(block.message) && !kept(block.message)) sum += bytesOf(block)
  return sum
}

export function tokensOf(bytes: number, scale: number): number {
  return Math.ceil((bytes / 4) * scale)
}

const { hash } = (globalThis as unknown as { Bun: { hash(text: string, seed: bigint): bigint } }).Bun

/** A hash of a block and of all blocks before it. It does not depend on the messages that contain the blocks. */
function digest(before: bigint, role: string, { kind, text, id, name, input, signature, isError }: Block): bigint {
  return hash(text, hash(`${role}\0${kind}\0${id}\0${name}\0${signature}\0${isError}\0${input}`, before))
}

/** The blocks of a request, each with the digest of all blocks up to it. Cache breakpoints do not matter. */
export interface Chain {
  start: bigint
  blocks: { block: Block; role: Turn["role"]; digest: bigint; bytes: number }[]
  bytes: number
}

export function chainOf({ system, turns }: Request): Chain {
  const start = hash(system, 0n)
  const chain: Chain = { start, blocks: [], bytes: Buffer.byteLength(system) + toolBytes }
  let before = start
  for (const { role, blocks } of turns) {
    for (const block of blocks) {
      before = digest(before, role, block)
      const bytes = bytesOf(block)
      chain.bytes += bytes
      chain.blocks.push({ block, role, digest: before, bytes })
    }
  }
  return chain
}

/** The digest of all blocks before block i. If block i is thinking, it is bound to this digest. */
export function before(chain: Chain, i: number): bigint {
  return i === 0 ? chain.start : chain.blocks[i - 1]!.digest
}

/** Returns, for each block of an answer to the request, the digest to which the block is bound. */
export function bindings(chain: Chain, answer: readonly Block[]): bigint[] {
  let last = chain.blocks.at(-1)?.digest ?? chain.start
  return answer.map((block) => {
    const bound = last
    last = digest(last, "assistant", block)
    return bound
  })
}

/** Returns how many blocks at the start of two requests are equal, or -1 if the system prompts differ. */
export function shared(a: Chain, b: Chain): number {
  if (a.start !== b.start) return -1
  let n = 0
  while (n < a.blocks.length && n < b.blocks.length && a.blocks[n]!.digest === b.blocks[n]!.digest) n++
  return n
}

export function refusal(model: Model, tokens: number, limit: number): { name: string; data: Record<string, unknown> } {
  const texts = {
    anthropic: `prompt is too long: ${tokens} tokens > ${limit} maximum`,
    openai: "Your input exceeds the context window of this model. Please adjust your input and try again.",
    compatible: `the request exceeds the available context size (${limit} tokens), try increasing it`,
  }
  const message = model.npm === "@ai-sdk/amazon-bedrock" ? "Input is too long for requested model." : texts[model.family]
  return { name: "ContextOverflowError", data: { message, responseBody: JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }) } }
}
