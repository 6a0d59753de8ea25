import { createHash } from "node:crypto"
import type { Message } from "./pi.ts"

/**
 * A step: one message of Pi. If the message is an answer of the model, the step also holds the results of its tool
 * calls, which are separate messages in Pi. So a call and its result are in one message of the protocol.
 */
export interface Step {
  id: string
  /** Absent once a patch has removed the step. */
  message?: Message
  results?: Message[]
}

/** Joins Pi's messages to steps. The steps share no array and no block with the messages, so patches do not reach them. */
export function join(messages: readonly Message[]): Step[] {
  const steps: Step[] = []
  const keys = new Keys()
  let answer: Step | undefined // the answer to which the following results belong
  for (const message of messages) {
    if (message?.role === "toolResult" && answer) {
      ;(answer.results ??= []).push(own(message))
      continue
    }
    const step: Step = { id: keys.next(message), message: own(message) }
    steps.push(step)
    answer = message?.role === "assistant" ? step : undefined
  }
  return steps
}

/**
 * Returns the messages of steps: the reverse of join, after patches were applied. Pi does not send a failed answer, but
 * would send its results. No provider accepts results without their calls, so flatten leaves them out.
 */
export function flatten(steps: readonly Step[]): Message[] {
  const messages: Message[] = []
  for (const { message, results } of steps) {
    if (!message) continue
    messages.push(message)
    if (results && !hasFailed(message)) for (const result of results) messages.push(result)
  }
  return messages
}

/** Whether an answer of the model has failed or was aborted. */
export function hasFailed(message: Message): boolean {
  const { stopReason } = message as { stopReason?: string }
  return message.role === "assistant" && (stopReason === "error" || stopReason === "aborted")
}

/** The key that a message has if it is the only one in its array. */
export function keyOf(message: Message): string {
  return new Keys().next(message)
}

/**
 * Copies the message and its blocks, because patches write into both. An extension that runs before this one may return
 * the session's own objects, and Pi would then store the patched values.
 */
function own(message: Message): Message {
  if (typeof message !== "object" || message === null) return message
  const copy = { ...message }
  if (Array.isArray(copy.content)) copy.content = copy.content.map((block: unknown) => (isPlain(block) ? { ...block } : block))
  return copy
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/**
 * Makes the keys of the messages of one array. A key is the same in every version of Pi, in the array and in the event
 * message_end, before and after a fork, because it consists of values that Pi copies unchanged. The id of a session
 * entry cannot be the key: it changes in a copy, and in 0.74 the newest messages have no entry yet.
 */
class Keys {
  private readonly seen = new Map<string, number>()

  next(message: Message): string {
    const key = baseKey(message)
    const count = (this.seen.get(key) ?? 0) + 1
    this.seen.set(key, count)
    return count === 1 ? key : `${key}#${count}`
  }
}

function baseKey(message: Message): string {
  const { role, timestamp, toolCallId, customType, fromId } = (message ?? {}) as Message & Record<string, unknown>
  switch (role) {
    case "toolResult": // results of parallel calls share a timestamp
      return `toolResult:${timestamp}:${toolCallId}`
    case "custom": // its timestamp changes when Pi writes it to the session file
      return `custom:${customType}:${shortHash(message.content)}`
    case "branchSummary": // like a custom message
      return `branchSummary:${fromId}`
  }
  // A message that an extension has made may have no timestamp.
  return typeof timestamp === "number" ? `${role}:${timestamp}` : `${role}:${shortHash(message)}`
}

function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value) ?? "").digest("hex").slice(0, 12)
}
