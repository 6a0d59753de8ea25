import { createHash } from "node:crypto"
import type { Message } from "./pi.ts"

/**
 * A message of Pi. Pi stores the results of tool calls in separate messages, but the protocol needs a call and its
 * result together. So `results` contains the results of the message's calls.
 */
export interface Step {
  id: string
  /** Absent after a patch has removed the step. */
  message?: Message
  results?: Message[]
}

/** Makes steps from messages. The steps contain copies, so patches do not change Pi's messages. */
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
 * Returns the messages of the steps; the reverse of join. Pi does not send a failed answer, but would send the results
 * of its calls. No provider accepts results without calls, so flatten leaves them out.
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

export function hasFailed(message: Message): boolean {
  const { stopReason } = message as { stopReason?: string }
  return message.role === "assistant" && (stopReason === "error" || stopReason === "aborted")
}

/**
 * Returns the key of a message that is known without its array, for example from an event. In an array, several
 * messages may have equal values. The class Keys numbers their keys, but keyOf sees only one message.
 */
export function keyOf(message: Message): string {
  return new Keys().next(message)
}

/**
 * Copies a message and its blocks, because patches write into both. If an earlier extension has returned the session's
 * own objects, Pi passes them on to us. Without the copy, Pi would then store the patched texts.
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
 * A message's key consists of values that Pi copies unchanged, for example `user:1700000000000` with its timestamp. So
 * the key is the same in all versions, in the array, in the event message_end, and after a fork. The id of the session
 * entry would not work as a key: it changes when the session is copied, and in Pi 0.74 the newest messages have no
 * entry yet.
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
  // A message of an extension may have no timestamp.
  return typeof timestamp === "number" ? `${role}:${timestamp}` : `${role}:${shortHash(message)}`
}

function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value) ?? "").digest("hex").slice(0, 12)
}
