import type { Instance } from "./instance.ts"
import type { Entry, Part, SessionCompaction } from "./opencode2.ts"
import { Steps } from "./steps.ts"

/**
 * The summary consists of the head and the text of all messages after it. This text may have at most `characters`
 * characters, and at most `perToken` characters for each token of the model's window.
 */
const longestRest = { characters: 60_000, perToken: 0.3 }

/**
 * Answers a compaction with the session's head, so OpenCode calls no model. OpenCode replaces the event's messages with
 * this summary, and appends the newest messages itself. The summary also contains the messages that the head does not
 * cover. If these messages are too long, or if there is no head yet, OpenCode asks its model.
 */
export async function compaction(instance: Instance, event: SessionCompaction): Promise<void> {
  const { facts, passes } = instance
  const { sessionID: session, messages } = event
  const count = passes.head(session).length
  if (count === 0 || event.result) return
  const steps = new Steps(messages, await facts.of(session, messages), event.agent, facts.asked)
  if ((await passes.repeat(steps.list, session)) !== "reapplied") return
  const wire = steps.entries()
  if (wire.length < count || !isHead(wire[0], passes.head(session)[0])) return // the array does not begin with the head
  const head = wire.slice(0, count).filter(({ role }) => role === "user").map(textOf)
  const rest = wire.slice(count).filter(({ role }) => role !== "system").map((entry) => `[${entry.role}]: ${textOf(entry)}`)
  const text = rest.join("\n\n")
  const window = (await instance.catalogue.model(event.model).catch(() => undefined))?.limit?.context || Infinity
  if (text.length > Math.min(longestRest.characters, longestRest.perToken * window)) return
  event.result = { summary: [...head, ...(text ? [text] : [])].join("\n\n") }
}

function isHead(entry: Entry | undefined, head: unknown): boolean {
  const { message } = head as { message?: Entry }
  return message !== undefined && entry !== undefined && textOf(entry) === textOf(message)
}

function textOf({ content }: Entry): string {
  return content.map(said).filter(Boolean).join("\n")
}

function said(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text ?? ""
    case "tool-call":
      return `[call of ${String((part as { name?: unknown }).name)}]: ${JSON.stringify((part as { input?: unknown }).input)}`
    case "tool-result":
      return typeof part.result?.value === "string" ? part.result.value : JSON.stringify(part.result?.value ?? "", (_, value: unknown) => (typeof value === "string" && value.startsWith("data:") ? "[file]" : value))
    case "media":
      return "[file]"
  }
  return ""
}
