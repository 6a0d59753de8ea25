import type { Instance } from "./instance.ts"
import type { Entry, Part, SessionCompaction } from "./opencode2.ts"
import { Steps } from "./steps.ts"

/**
 * The text after the head in a summary has an absolute limit, and a limit for each token of the window, in
 * characters.
 */
const longestRest = { characters: 60_000, perToken: 0.3 }

/**
 * The session's head answers a compaction, which then takes no time and costs nothing. OpenCode compacts the messages
 * of the event, and keeps the newest ones as text after the summary. In the summary, messages that the head does not
 * cover follow the head as text. If this text is too long, or there is no head yet, OpenCode asks its model.
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
