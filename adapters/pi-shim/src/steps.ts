import { createHash } from "node:crypto"
import type { Message } from "./pi.ts"

/**
 * A step: one message of Pi, and behind an answer of the model the results of its tool calls. In Pi these are messages
 * of their own. A step holds both, so a call and its result lie in one message of the protocol.
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
  let answer: Step | undefined // the step that takes the results behind it
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
 * Returns the messages of steps: the reverse of join, after patches were applied. Pi keeps an answer that has failed from
 * the provider, but not its results, which no provider accepts without their calls.
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

/** The key of a message that stands alone in its array. */
export function keyOf(message: Message): string {
  return new Keys().next(message)
}

/**
 * Copies what patches write into: the message and its blocks. An extension that runs before this one may return the
 * very objects of the session, and Pi would store what is written into them.
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
 * Makes the keys of the messages of one array. A key is the same in every version of Pi, in the array and at the end of
 * the message, before and after a fork: it consists of what Pi copies unchanged. Ids of session entries are not, and in
 * 0.74 the newest messages have none yet.
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
    case "branchSummary": // the same
      return `branchSummary:${fromId}`
  }
  // A message that an extension made by hand may have no timestamp.
  return typeof timestamp === "number" ? `${role}:${timestamp}` : `${role}:${shortHash(message)}`
}

function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value) ?? "").digest("hex").slice(0, 12)
}
