import type { Message, Part } from "./opencode.ts"
import type { Model } from "./provider.ts"
import { note } from "./rules.ts"

/**
 * The world and the judge use messages of OpenCode 1. This file translates them to entries of OpenCode 2, and
 * translates the wire back. For the way back, each part of an entry has the id of its OpenCode 1 part in its metadata.
 * The shim never sends this metadata to the host, but it must leave it on the part.
 */

export class Entry {
  declare readonly id?: string
  declare readonly role: "system" | "user" | "assistant" | "tool"
  declare readonly content: EntryPart[]
  declare readonly metadata?: Record<string, unknown>

  constructor(members: object) {
    Object.assign(this, members)
  }
}

export class CacheHint {
  readonly type = "ephemeral"
}

export interface EntryPart {
  type: string
  text?: string
  id?: string
  name?: string
  input?: unknown
  result?: { type: string; value: unknown }
  providerMetadata?: Record<string, unknown>
  media?: { mediaType: string; source: { type: string; data: string } }
  mediaType?: string
  data?: string
  effort?: string
  cache?: unknown
  metadata?: { origin?: string; attachment?: object }
  [more: string]: unknown
}


/** The array that the hook gets. `owners` maps each entry to the message from which it was made. */
export interface Raw {
  entries: Entry[]
  owners: Map<Entry, Message>
  /** The first entry of each message. An answer with calls has further entries, one for each result. */
  first: Map<Message, Entry>
  /** The key that the shim must give to each message, by the id of the message. */
  keys: Map<string, string>
}

export function arrayOf(messages: readonly Message[], model: Model, isBeta: boolean): Raw {
  const raw: Raw = { entries: [], owners: new Map(), first: new Map(), keys: new Map() }
  const taken = new Set<string>()
  let last = "start"
  for (const message of messages) {
    const [entry, ...results] = entriesOf(message, model, isBeta)
    if (!entry) continue
    raw.first.set(message, entry)
    for (const each of [entry, ...results]) {
      raw.entries.push(each)
      raw.owners.set(each, message)
    }
    last = entry.id ?? unused(`${entry.role}-after-${last}`, taken)
    raw.keys.set(message.info.id, last)
  }
  return raw
}

function unused(name: string, taken: Set<string>): string {
  let found = name
  for (let n = 2; taken.has(found); n++) found = `${name}#${n}`
  taken.add(found)
  return found
}

/** Writes the summary of a compaction as OpenCode 2 does. */
export function checkpoint(summary: string, recent: string): string {
  const end = recent ? `\n\n<recent-context>\n${recent}\n</recent-context>` : ""
  return `<conversation-checkpoint>\nThe following is a summary and serialized record of earlier conversation.\n\n<summary>\n${summary}\n</summary>${end}\n</conversation-checkpoint>`
}

/** Converts a message to entries. An answer becomes one entry, and each result of its calls becomes a further entry. */
function entriesOf({ info, parts }: Message, model: Model, isBeta: boolean): Entry[] {
  const { id } = info
  if (info.kind === "limit") return [new Entry({ role: "assistant", content: parts.map(textOf) })]
  if (info.role === "assistant") return answerOf(id, { info, parts }, model)
  switch (info.kind) {
    case "system":
      return [new Entry({ role: "system", content: parts.map(textOf) })]
    case "effort":
      return [new Entry({ role: "system", content: [{ type: "effort", effort: parts[0]!.text }] })]
    case "plugin": // another plugin puts a plain object into each array
      return [{ role: "user", content: parts.map(textOf) }]
    case "synthetic":
    case "shell":
    case "compaction":
      return [new Entry({ id, role: "user", content: parts.map(textOf) })]
  }
  return [new Entry({ id, role: "user", content: parts.map((part) => promptPart(part, isBeta)), metadata: {} })]
}

function textOf({ id, text }: Part): EntryPart {
  return { type: "text", text: text!, metadata: { origin: id! } }
}

function promptPart(part: Part, isBeta: boolean): EntryPart {
  if (part.type === "file") {
    const [, data = ""] = part.url!.split("base64,")
    const metadata = { origin: part.id! }
    return isBeta
      ? { type: "media", mediaType: part.mime!, data, filename: "a.png", metadata }
      : { type: "media", media: { mediaType: part.mime!, source: { type: "base64", data } }, filename: "a.png", metadata }
  }
  if (!part.isAttached) return { ...textOf(part), ...(part.isMarked === true && { cache: new CacheHint() }) }
  return { type: "text", text: part.text!, metadata: { origin: part.id!, attachment: { source: { uri: "file:///a.txt" }, name: "a.txt" } } }
}

function answerOf(id: string, { info, parts }: Message, model: Model): Entry[] {
  const isOurs = info.providerID === model.provider && info.modelID === model.id
  const content = parts.flatMap((part): EntryPart[] => {
    const metadata = { origin: part.id! }
    switch (part.type) {
      case "text":
        return part.text ? [textOf(part)] : []
      case "reasoning":
        if (info.error) return part.text ? [textOf(part)] : []
        if (!part.text && !part.metadata) return []
        return [{ type: "reasoning", text: part.text!, ...(isOurs && part.metadata && { providerMetadata: part.metadata }), metadata }]
      case "tool":
        return [
          { type: "tool-call", id: part.callID!, name: part.tool!, input: part.state!.input, ...(part.isExecuted === true && { providerExecuted: true }), metadata },
          ...(part.isExecuted ? [{ type: "tool-result", id: part.callID!, name: part.tool!, result: resultOf(part)!, providerExecuted: true, metadata }] : []),
        ]
    }
    return []
  })
  if (content.length === 0) return []
  const results = parts.flatMap((part) => {
    const result = part.type === "tool" && !part.isExecuted && resultOf(part)
    return result ? [new Entry({ role: "tool", content: [{ type: "tool-result", id: part.callID!, name: part.tool!, result, metadata: { origin: part.id! } }] })] : []
  })
  return [new Entry({ id, role: "assistant", content }), ...results]
}

/** Separates a call's error message from the output that the call had written before it failed. */
const before = "\nbefore it: "

/** The result of a call, in one of OpenCode's forms. It is undefined while the call is running. */
function resultOf({ state, form }: Part): EntryPart["result"] | undefined {
  const { status, output = "", error = "" } = state!
  if (status === "error") {
    const [message, partial] = error.split(before)
    return { type: "error", value: { error: { type: "tool.execution", message }, content: partial === undefined ? [] : [{ type: "text", text: partial }] } }
  }
  if (status !== "completed") return undefined
  switch (form) {
    case "json":
      return { type: "json", value: JSON.parse(output) as unknown }
    case "content": {
      const line = output.indexOf("\n")
      const texts = line < 0 ? [output] : [output.slice(0, line), output.slice(line + 1)]
      return { type: "content", value: [...texts.map((text) => ({ type: "text", text })), { type: "file", uri: "data:image/png;base64,AAAA", mime: "image/png" }] }
    }
  }
  return { type: "text", value: output }
}

/** Joins the error message and the output of a failed call. */
export const failed = (message: string, partial: string): string => (partial ? message + before + partial : message)

export function textsOf({ type, value }: NonNullable<EntryPart["result"]>): string {
  if (type === "content") {
    const texts = (value as { type: string; text?: string }[]).flatMap((item) => (item.type === "text" ? [item.text!] : []))
    // The host adds its notes to the first text.
    const added = texts.length > 1 ? (note.exec(texts[0]!)?.[0] ?? "") : ""
    return texts.join("\n").replace(added, "") + added
  }
  if (typeof value === "string") return value
  const failure = value as { error?: { message?: string }; content?: { text?: string }[] }
  if (type === "error" && failure.error?.message !== undefined) return failed(failure.error.message, (failure.content ?? []).map(({ text }) => text ?? "").join("\n"))
  return JSON.stringify(value)
}

const headIDs = ["magicctx-baseline", "magicctx-acknowledgement", "magicctx-delta"]

/** The array that the hook returns, translated back to messages. The translation needs the array that the hook got. */
export interface Wire {
  messages: Message[]
  owners: Map<Entry, string>
}

export function read(wire: readonly Entry[], raw: Raw): Wire {
  const byID = new Map<string, Message>()
  const byOrigin = new Map<string, Message>()
  for (const [entry, message] of raw.owners) {
    if (entry.id !== undefined) byID.set(entry.id, message)
    for (const part of entry.content) if (part.metadata?.origin) byOrigin.set(part.metadata.origin, message)
  }
  const owners = new Map<Entry, string>()
  const messages: Message[] = []
  let heads = 0
  let answer: Message | undefined
  for (const entry of wire) {
    const origin = entry.content.find((part) => part.metadata?.origin)?.metadata!.origin
    const source = raw.owners.get(entry) ?? byID.get(entry.id ?? "") ?? byOrigin.get(origin ?? "")
    if (!source) {
      const id = messages.length === heads ? (headIDs[heads++] ?? "unknown") : "unknown"
      owners.set(entry, id)
      const parts = entry.content.map((part, i): Part => ({ id: `${id}-${i}`, type: part.type, text: part.text ?? "" }))
      messages.push({ info: { ...raw.owners.get(raw.entries[0]!)!.info, id, role: entry.role === "assistant" ? "assistant" : "user" }, parts })
      continue
    }
    owners.set(entry, source.info.id)
    if (entry.role === "tool") {
      const call = answer?.info.id === source.info.id ? answer.parts.find(({ callID, type, id }) => type === "tool" && (origin ? id === origin : callID === entry.content[0]!.id)) : undefined
      const text = textsOf(entry.content[0]!.result!)
      if (call) call.state![call.state!.status === "error" ? "error" : "output"] = text
      continue
    }
    const message = { info: source.info, parts: partsOf(entry, source, raw) }
    answer = entry.role === "assistant" ? message : undefined
    messages.push(message)
  }
  return { messages, owners }
}

/** Converts an array to the shim's steps, which e2e/judge reads. */
export function stepsOf(entries: readonly Entry[], owner: (entry: Entry) => string, raw: Raw, asked: { provider: string; id: string }): unknown[] {
  const infos = new Map([...raw.first.keys()].map(({ info }) => [info.id, info]))
  const steps: { id: string; info: object; message: Entry; results?: Entry[] }[] = []
  for (const entry of entries) {
    const last = steps.at(-1)
    if (entry.role === "tool" && last) {
      ;(last.results ??= []).push(entry)
      continue
    }
    const id = owner(entry)
    const { providerID = asked.provider, modelID = asked.id } = infos.get(id) ?? {}
    steps.push({ id, info: entry.role === "assistant" ? { providerID, modelID } : { asked: { provider: asked.provider, model: asked.id } }, message: entry })
  }
  return steps
}

function partsOf(entry: Entry, source: Message, raw: Raw): Part[] {
  const original = raw.first.get(source)!
  const used = new Set<string>()
  return entry.content.flatMap((part, i): Part | Part[] => {
    // If a patch has replaced a whole part, the new part does not say which part it replaces. If the number of parts is
    // still the same, it replaces the part with the same index.
    const place = entry.content.length === original.content.length ? original.content[i]!.metadata?.origin : undefined
    const origin = part.metadata?.origin ?? (place !== undefined && !used.has(place) ? place : undefined)
    const was = source.parts.find(({ id }) => id === origin)
    if (origin) used.add(origin)
    if (!was) return { id: part.type === "effort" ? source.parts[0]!.id! : `extra-${i}`, type: part.type === "effort" ? "text" : part.type, text: part.text ?? part.effort ?? "" }
    if (part.type === "text") return { ...was, type: "text", text: part.text! }
    // If the provider itself ran the call, this entry contains the result, too.
    if (part.providerExecuted) return part.type === "tool-result" ? [] : was
    // The harness ran the call, so its result is in a later entry.
    if (part.type === "tool-call") return { ...was, state: { ...was.state!, input: part.input, ...("output" in was.state! && { output: "" }), ...("error" in was.state! && { error: "" }) } }
    return was
  })
}
