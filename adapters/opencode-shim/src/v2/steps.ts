import { clone, isObject } from "@magicctx/shim-core"
import { trim, type Fact } from "./facts.ts"
import type { Entry, Part } from "./opencode2.ts"

/**
 * A message of OpenCode. OpenCode stores the results of tool calls in separate messages, but the protocol needs a call
 * and its result together. So `results` contains the results of the message's calls.
 */
export interface Step {
  id: string
  info?: Info
  /** Absent after a patch has removed the step. */
  message?: Entry
  results?: Entry[]
}

export interface Info extends Omit<Fact, "text"> {
  /** The index of the part that the user typed, or -1. */
  typed?: number
  /** The first characters of each file in the step, by its path, for example `/message/content/1`. */
  media?: Record<string, string>
}

const rememberedPrompts = 10_000

export class Steps {
  readonly list: Step[] = []
  private readonly originals = new WeakMap<Entry, Entry>()

  /** The steps contain copies of OpenCode's messages, so patches never change the originals. */
  constructor(entries: readonly Entry[], facts: ReadonlyMap<string, Fact>, agent?: string, asked = new Map<string, string>()) {
    let answer: Step | undefined // the answer to which the following results belong
    const seen = new Set<string>()
    for (const entry of entries) {
      if (entry?.role === "tool" && answer) {
        const results = (answer.results ??= [])
        noteMedia(answer.info!, entry, `/results/${results.length}`)
        results.push(this.own(entry))
        continue
      }
      const step = this.step(entry, facts, seen)
      this.list.push(step)
      answer = entry?.role === "assistant" ? step : undefined
    }
    this.nameAgents(agent, asked)
  }

  /** Returns the messages of the steps. A message that no patch has changed is OpenCode's own object. */
  entries(): Entry[] {
    const entries: Entry[] = []
    for (const { message, results } of this.list) {
      const sent = message && this.sent(message)
      if (!sent) continue
      entries.push(sent)
      for (const result of results ?? []) entries.push(this.sent(result)!)
    }
    return entries
  }

  private step(entry: Entry, facts: ReadonlyMap<string, Fact>, seen: Set<string>): Step {
    const before = this.list.at(-1)
    const { text, ...fact } = facts.get(entry?.id ?? "") ?? ({} as Fact)
    const info: Info = fact
    // OpenCode does not store a message without an id. Such a message gets the time of the message before it.
    if (entry?.id === undefined && before?.info?.created !== undefined) info.created = before.info.created
    if (text !== undefined) info.typed = text === "" ? -1 : entry.content.findIndex((part) => part.type === "text" && part.text === text)
    noteMedia(info, entry, "/message")
    const id = entry?.id ?? unique(nameOf(entry, before?.id ?? "start"), seen)
    return { id, info, message: this.own(entry) }
  }

  /**
   * Names the agent of each prompt. The newest prompt gets the agent of its answer, or of this request if there is no
   * answer yet. An older prompt keeps the agent of its last request (`asked`), because another name would count as a
   * change of the message.
   */
  private nameAgents(agent: string | undefined, asked: Map<string, string>): void {
    let isNewest = true
    for (let i = this.list.length - 1, next = agent; i >= 0; i--) {
      const { id, info, message } = this.list[i]!
      if (message?.role === "assistant") next = info?.agent ?? next
      else if (message?.role === "user" && info && next !== undefined) {
        info.agent = (!isNewest && asked.get(id)) || next
        if (message.id === undefined) continue // it may be a part of the newest prompt
        asked.delete(id) // moves the prompt to the end, because trim deletes the first entries
        asked.set(id, info.agent)
        isNewest = false
      }
    }
    trim(asked, rememberedPrompts)
  }

  /** Copies a message and its parts, because patches write into both. A copy has the class of its original. */
  private own(entry: Entry): Entry {
    if (!isObject(entry) || !Array.isArray(entry.content)) return entry
    const copy = like(entry, { content: entry.content.map(ownPart) })
    this.originals.set(copy, entry)
    return copy
  }

  /** Returns a changed message in the form that is sent, or undefined if nothing is left of it. */
  private sent(copy: Entry): Entry | undefined {
    const original = this.originals.get(copy)
    if (!original) {
      const { role, content } = clone(copy) // a message of the head: OpenCode does not know its id
      return { role, content }
    }
    if (copy.content.length === original.content.length && copy.content.every((part, i) => isSamePart(part, original.content[i]!))) return original
    // OpenCode does not remove empty texts, and providers refuse them.
    const content = copy.content.filter(({ type, text }) => type !== "text" || text?.trim() !== "")
    return content.length > 0 ? like(copy, { content }) : undefined
  }
}

/** Makes a key for a message without an id, for example `user-after-msg_7`. */
function nameOf(entry: Entry, before: string): string {
  const call = entry?.role === "tool" ? entry.content[0]?.id : undefined
  return call === undefined ? `${entry?.role}-after-${before}` : `tool-${call}`
}

function unique(name: string, seen: Set<string>): string {
  let found = name
  for (let n = 2; seen.has(found); n++) found = `${name}#${n}`
  seen.add(found)
  return found
}

function like<T extends object>(object: T, members: Partial<T>): T {
  return Object.assign(Object.create(Object.getPrototypeOf(object) as object) as T, object, members)
}

function ownPart(part: Part): Part {
  if (!isObject(part)) return part
  return like(part, (part as Part).type === "tool-result" ? { result: clone((part as Part).result) } : {}) as Part
}

function isSamePart(a: Part, b: Part): boolean {
  if (!isObject(a) || !isObject(b)) return a === b
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name] || (name === "result" && isSame(a[name], b[name])))
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  const names = Object.keys(a).filter((name) => (a as Record<string, unknown>)[name] !== undefined)
  const others = Object.keys(b).filter((name) => (b as Record<string, unknown>)[name] !== undefined)
  return names.length === others.length && names.every((name) => isSame((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]))
}

/** How many characters of a file's data the host gets. They are enough to read the width and height of an image. */
const headLength = 512

/** Notes the first characters of each file. The host uses them to distinguish files, and to estimate their tokens. */
function noteMedia(info: Info, entry: Entry, path: string): void {
  const content = Array.isArray(entry?.content) ? entry.content : []
  content.forEach((part: Part, i) => {
    const at = `${path}/content/${i}`
    if (part?.type === "media") note(info, at, dataURL(part))
    else if (part?.type === "tool-result" && part.result?.type === "content" && Array.isArray(part.result.value)) {
      part.result.value.forEach((item: { type?: string; uri?: string }, k) => {
        if (item?.type === "file" && typeof item.uri === "string") note(info, `${at}/result/value/${k}`, item.uri)
      })
    }
  })
}

function note(info: Info, path: string, url: string): void {
  const comma = url.indexOf(",") + 1
  const isShort = url.length - comma <= headLength
  ;(info.media ??= {})[path] = isShort ? url : `${url.slice(0, comma + headLength)}#${url.length}-${url.slice(-32)}`
}

function dataURL({ media, mediaType, data }: Part): string {
  const content = media?.source?.data ?? data
  const base64 = content instanceof Uint8Array ? Buffer.from(content).toString("base64") : typeof content === "string" ? content : ""
  return base64 === "" && media?.source?.uri ? media.source.uri : `data:${media?.mediaType ?? mediaType};base64,${base64}`
}
