import { Entry, CacheHint, textsOf, type EntryPart, type Raw } from "./entries.ts"
import type { Block, Model, Turn } from "./provider.ts"
import { excerpt, type Hit } from "./rules.ts"

/**
 * This file does what OpenCode 2 does after the hooks: it checks the array against a schema, and converts it to the
 * provider's request. If the array violates the schema, OpenCode ends the user's turn.
 */

const members: Record<string, { must: string[]; may?: string[] }> = {
  text: { must: ["text"] },
  media: { must: [], may: ["media", "mediaType", "data", "filename"] },
  reasoning: { must: ["text"], may: ["encrypted"] },
  "tool-call": { must: ["id", "name", "input"], may: ["namespace", "providerExecuted"] },
  "tool-result": { must: ["id", "name", "result"], may: ["namespace", "providerExecuted"] },
  effort: { must: [], may: ["effort", "previous"] },
}
const common = ["type", "cache", "metadata", "providerMetadata"]

const roles: Record<string, string[]> = {
  system: ["text", "effort"], user: ["text", "media"], assistant: ["text", "reasoning", "tool-call", "tool-result", "media"], tool: ["tool-result"],
}

/** Finds violations of OpenCode's schema, and changes that a patch of the host never needs to make. */
export function checked(wire: readonly Entry[], raw: Raw): Hit[] {
  const hits: Hit[] = []
  if (!Array.isArray(wire)) return [{ rule: "schema", at: "", detail: "the messages are no array" }]
  const byID = new Map(raw.entries.flatMap((entry) => (entry.id === undefined ? [] : [[entry.id, entry] as const])))
  for (const entry of wire) {
    const hit = (rule: string, detail: string) => hits.push({ rule, at: entry?.id ?? "", detail: `${detail}: ${excerpt(JSON.stringify(entry) ?? "undefined", 200)}` })
    if (!entry || !roles[entry.role] || !Array.isArray(entry.content)) {
      hit("schema", "an entry of another form")
      continue
    }
    for (const name of Object.keys(entry)) if (!["id", "role", "content", "metadata", "providerMetadata", "native"].includes(name)) hit("schema", `an entry has the member ${name}`)
    if ("id" in entry && typeof entry.id !== "string") hit("schema", "an id is no string")
    for (const part of entry.content) for (const why of refused(entry.role, part)) hit("schema", why)
    if (raw.owners.has(entry)) continue
    const source = byID.get(entry.id ?? "")
    if (!source) continue
    if (!(entry instanceof Entry)) hit("class", "an entry of OpenCode became an object of another class")
    if (JSON.stringify(entry) === JSON.stringify(source)) hit("copied", "an entry without a change is a copy")
  }
  for (const entry of raw.entries) {
    if (entry.role === "system" && !wire.includes(entry)) hits.push({ rule: "system-entry", at: raw.owners.get(entry)!.info.id, detail: `a message of the system is not sent as it was: ${excerpt(JSON.stringify(entry), 200)}` })
  }
  return hits
}

function* refused(role: string, part: EntryPart): Generator<string> {
  const known = members[part?.type]
  if (!known || !roles[role]!.includes(part.type)) return yield `a part of type ${part?.type} in the role ${role}`
  for (const name of known.must) if (part[name] === undefined) yield `a part without ${name}`
  for (const name of Object.keys(part)) if (![...common, ...known.must, ...(known.may ?? [])].includes(name)) yield `a part with the member ${name}`
  if (part.text !== undefined && typeof part.text !== "string") yield "a text is no string"
  if (part.cache !== undefined && !(part.cache instanceof CacheHint)) yield "Expected LLM.CacheHint"
  if (part.type !== "tool-result" || !part.result) return
  const { type, value } = part.result
  if (!["json", "text", "error", "content"].includes(type) || value === undefined) yield `a result of type ${type}`
  if (type !== "content") return
  const isItem = (item: { type: string; text?: string; uri?: string; mime?: string }) => (item.type === "text" ? typeof item.text === "string" : item.type === "file" && typeof item.uri === "string" && typeof item.mime === "string")
  if (!Array.isArray(value) || !value.every(isItem)) yield "a content of another form"
}

/** Owners names the message of each entry. */
export function lower(entries: readonly Entry[], owner: (entry: Entry) => string, model: Model): Turn[] {
  const turns: Turn[] = []
  for (const entry of entries) {
    const message = owner(entry)
    const role = entry.role === "assistant" ? "assistant" : "user"
    const blocks = entry.content.flatMap((part) => blocksOf(part, entry, model).map((more): Block => ({
      text: "", id: "", name: "", input: "", signature: "", isError: false, message, part: part.metadata?.origin ?? "", ...more,
    })))
    if (blocks.length === 0) continue
    const last = turns.at(-1)
    // Anthropic's API joins neighbouring messages of one role. In other APIs, each result is a separate message.
    if (last?.role === role && model.family === "anthropic") last.blocks.push(...blocks)
    else turns.push({ role, blocks })
  }
  return turns
}

function blocksOf(part: EntryPart, { role }: Entry, model: Model): (Partial<Block> & { kind: Block["kind"] })[] {
  switch (part.type) {
    case "text":
      return [{ kind: "text", text: role === "system" ? `<system-update>\n${part.text!}\n</system-update>` : part.text! }]
    case "media":
      return [{ kind: "image", text: part.data ?? part.media!.source.data }]
    case "reasoning": {
      const signature = signatureOf(part)
      if (signature || model.family === "compatible") return [{ kind: "thinking", text: part.text!, signature }]
      // This thinking has no proof. Claude would refuse it, so OpenCode sends it to Claude as a text. To OpenAI,
      // OpenCode does not send it at all.
      return model.family === "anthropic" && part.text!.trim() ? [{ kind: "text", text: part.text! }] : []
    }
    case "tool-call":
      // If the provider itself has run a call, call and result are signed together.
      if (part.providerExecuted) return [{ kind: "text", text: `${part.id} ${JSON.stringify(part.input)}` }]
      return [{ kind: "call", id: part.id!, name: part.name!, input: JSON.stringify(part.input) }]
    case "tool-result": {
      const { type, value } = part.result!
      if (part.providerExecuted) return [{ kind: "text", text: `${part.id} ${JSON.stringify(value)}` }]
      const isText = type === "content" || typeof value === "string"
      const files = type === "content" ? (value as { type: string }[]).filter((item) => item.type === "file").length : 0
      return [{ kind: "result", id: part.id!, text: (isText ? textsOf(part.result!) : JSON.stringify(value)) + "[image]".repeat(files), isError: type === "error" }]
    }
  }
  return [] // a change of the effort is a setting of the request
}

function signatureOf({ providerMetadata }: EntryPart): string {
  for (const proof of Object.values((providerMetadata ?? {}) as Record<string, Record<string, string> | undefined>)) {
    const found = proof?.signature ?? proof?.redactedData ?? proof?.itemId
    if (found !== undefined) return found
  }
  return ""
}
