import type { Message, Part } from "./opencode.ts"
import type { Block, Model, Turn } from "./provider.ts"

/**
 * Rules of the providers, and limits on how content may change. They check only the sent requests, and do not depend on
 * how magicctx works.
 */

export interface Hit {
  rule: string
  /** The message, call or text with the problem. Two hits with the same rule and place are one finding. */
  at: string
  detail: string
}

/** The ids of the head's messages: the summaries, the model's acknowledgement, and the changes since the summaries. */
const headIDs = ["magicctx-baseline", "magicctx-acknowledgement", "magicctx-delta"]

export function isHead(message: string): boolean {
  return headIDs.includes(message)
}

export interface Head {
  texts: string[]
  /** The raw messages that are not sent themselves. */
  covered: Set<string>
}

/** Finds the head of a wire, and checks that the messages after it have the order of the raw array. */
export function head(raw: readonly Message[], wire: readonly Message[]): Head & { hits: Hit[] } {
  const hits: Hit[] = []
  const front = wire.filter(({ info }) => isHead(info.id))
  const names = front.map(({ info }) => info.id).join()
  if (front.length > 0 && names !== headIDs.join()) hits.push({ rule: "head-shape", at: "", detail: `the head is ${names}` })
  if (front.some((message, i) => wire[i] !== message)) hits.push({ rule: "head-shape", at: "", detail: "the head is not at the front" })
  const places = new Map(raw.map(({ info }, i) => [info.id, i]))
  let last = -1
  for (const { info } of wire) {
    const at = places.get(info.id)
    if (at === undefined) continue
    if (at <= last) hits.push({ rule: "order", at: info.id, detail: `message ${info.id} is sent out of order` })
    last = at
  }
  const sent = new Set(wire.map(({ info }) => info.id))
  const covered = new Set(front.length > 0 ? raw.flatMap(({ info }) => (sent.has(info.id) ? [] : [info.id])) : [])
  return { hits, texts: front.map(({ parts }) => parts.map(({ text }) => text).join()), covered }
}

function typed({ info, parts }: Message): Part[] {
  return info.role === "user" ? parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored && part.text !== "") : []
}

export function newestPrompt(raw: readonly Message[]): Message | undefined {
  return raw.findLast((message) => typed(message).length > 0)
}

/** Checks that the user's newest prompt is sent as it was typed. That must be so even under the highest pressure. */
export function prompt(raw: readonly Message[], wire: readonly Message[], given: Given): Hit[] {
  const newest = newestPrompt(raw)
  if (!newest) return []
  const is = wire.find(({ info }) => info.id === newest.info.id)
  for (const part of typed(newest)) {
    const words = untagged(part.text!, given).at(-1)!
    if (is?.parts.some(({ text }) => text?.includes(words))) continue
    return [{ rule: "prompt-missing", at: newest.info.id, detail: `the newest prompt of the user ${is ? "is not sent as it was typed" : "is not sent"}: ${excerpt(part.text!)}` }]
  }
  return []
}

export function structure(turns: readonly Turn[], model: Model): Hit[] {
  const hits: Hit[] = []
  const hit = (rule: string, at: string, detail: string) => hits.push({ rule, at, detail })
  if (turns.length === 0) return [{ rule: "empty-request", at: "", detail: "no messages at all" }]
  if (model.family !== "openai" && turns[0]!.role !== "user") hit("first-role", "", `the first message is the ${turns[0]!.role}'s: ${outline(turns.slice(0, 2))}`)
  if (model.family !== "openai" && turns.at(-1)!.role !== "user") hit("last-role", "", `the last message is the assistant's: ${outline(turns.slice(-2))}`)
  const seen = new Set<string>()
  let open = new Map<string, string>()
  for (const [i, { role, blocks }] of turns.entries()) {
    let others = 0
    if (role === "assistant" && open.size > 0) {
      for (const [id, at] of open) hit("pair", id, `call ${id} of ${at} has no result before the next answer`)
      open = new Map()
    }
    for (const block of blocks) {
      if (block.kind === "call") {
        if (seen.has(block.id)) hit("unique-id", block.id, `two calls have the id ${block.id}`)
        seen.add(block.id)
        open.set(block.id, block.message)
      } else if (block.kind === "result") {
        if (!open.delete(block.id)) hit("pair", block.id, `result ${block.id} of ${block.message} has no call right before it`)
        if (others > 0 && model.family === "anthropic") hit("result-order", block.id, `result ${block.id} stands after a text: ${outline(turns.slice(i - 1, i + 1))}`)
      } else {
        if (role === "user") {
          others++
          for (const [id, at] of open) hit("pair", id, `call ${id} of ${at} has no result in the next message`)
          open = new Map()
        }
        if (block.kind === "text" && block.text.trim() === "" && model.family === "anthropic") hit("blank", block.message, `blank text in ${block.message}`)
      }
    }
  }
  for (const [id, at] of open) hit("pair", id, `call ${id} of ${at} has no result`)
  return hits
}

/** Checks that all results after the newest answer are sent, because the model has not read them yet. */
export function unread(raw: readonly Turn[], wire: readonly Turn[]): Hit[] {
  if (raw.at(-1)?.blocks.at(-1)?.kind !== "result") return [] // the user has sent another message
  const asked = new Set<string>()
  for (const { role, blocks } of raw.slice(raw.findLastIndex((turn) => turn.role === "assistant"))) {
    if (role === "assistant") for (const { kind, id } of blocks) if (kind === "call") asked.add(id)
  }
  for (const { blocks } of wire) for (const { kind, id, text } of blocks) if (kind === "result" && !text.startsWith("[dropped §")) asked.delete(id)
  return [...asked].map((id) => ({ rule: "unread-dropped", at: id, detail: `the result of ${id}, which the model has not read, is not sent` }))
}

/**
 * Checks Anthropic's rules. In a tool loop, the newest answer must begin with all of its thinking, unchanged. In an
 * older answer, consecutive thinking blocks must be sent together or not at all.
 */
export function thinking(raw: readonly Turn[], wire: readonly Turn[], model: Model): Hit[] {
  const hits: Hit[] = []
  if (model.family === "openai") return followed(wire)
  if (model.family !== "anthropic") return hits
  const written = groups(raw)
  const sent = new Map<string, Block[]>()
  for (const { blocks } of wire) for (const block of blocks) if (block.kind === "thinking") sent.set(block.message, [...(sent.get(block.message) ?? []), block])
  for (const [message, blocks] of sent) {
    const all = (written.get(message) ?? []).flat()
    let from = 0
    for (const block of blocks) {
      const at = all.findIndex((b, i) => i >= from && b.signature === block.signature && b.text === block.text)
      if (at < 0) hits.push({ rule: "thinking-altered", at: message, detail: `a thinking block of ${message} is none that the model wrote, or out of order: ${excerpt(block.text)}` })
      else from = at + 1
    }
  }
  // With bound thinking, the host may send only some blocks of a group, because the blocks become invalid one by one.
  if (model.binds) return hits
  for (const [message, all] of written) {
    const kept = new Set(sent.get(message)?.map((block) => block.signature))
    for (const group of all) {
      const n = group.filter((block) => kept.has(block.signature)).length
      if (n > 0 && n < group.length) hits.push({ rule: "thinking-split", at: message, detail: `${n} of ${group.length} consecutive thinking blocks of ${message} are sent` })
    }
  }
  // `last` is the newest answer as the provider sees it, which may consist of several messages. `owner` is the message
  // that contains the last call of this answer.
  const last = wire.findLast(({ role }) => role === "assistant")
  const owner = last?.blocks.findLast((block) => block.kind === "call")?.message
  if (!last || !owner || !wire.at(-1)!.blocks.some((block) => block.kind === "result")) return hits
  const before = raw.find(({ role, blocks }) => role === "assistant" && blocks.some((block) => block.message === owner))
  const own = before?.blocks.filter((block) => block.kind === "thinking" && block.message === owner) ?? []
  if (own.length === 0) return hits
  const lost = own.filter((block) => !sent.get(owner)?.some((b) => b.signature === block.signature))
  if (lost.length > 0) {
    // The name of the rule says what happened. "cut" means that only some of the blocks are missing. "lost-fused" means
    // that all are missing, and that the answer was joined with another one. "lost" means that all are missing for
    // another reason.
    const isFused = last.blocks.some((block) => block.message !== owner)
    const rule = lost.length < own.length ? "newest-thinking-cut" : isFused ? "newest-thinking-lost-fused" : "newest-thinking-lost"
    hits.push({ rule, at: owner, detail: `${lost.length} of ${own.length} thinking blocks of the newest answer are not sent; of ${outline(raw.slice(-4))} is left ${outline(wire.slice(-2))}` })
  } else if (before!.blocks[0]!.kind === "thinking" && last.blocks[0]!.kind !== "thinking") {
    hits.push({ rule: "newest-thinking-not-first", at: owner, detail: `the last answer must start with thinking and is ${outline([last])}` })
  }
  return hits
}

/** OpenAI refuses a reasoning item if the item that followed it is missing. */
function followed(wire: readonly Turn[]): Hit[] {
  const hits: Hit[] = []
  for (const { blocks } of wire) {
    for (const [i, block] of blocks.entries()) {
      if (block.kind !== "thinking") continue
      const next = blocks.slice(i + 1).find((b) => b.kind !== "thinking")
      if (next?.message !== block.message) hits.push({ rule: "reasoning-alone", at: block.message, detail: `reasoning ${block.signature} of ${block.message} has nothing after it: ${outline([{ role: "assistant", blocks }])}` })
    }
  }
  return hits
}

function groups(turns: readonly Turn[]): Map<string, Block[][]> {
  const all = new Map<string, Block[][]>()
  let before: Block | undefined
  for (const { blocks } of turns) {
    for (const block of blocks) {
      if (block.kind === "thinking") {
        const its = all.get(block.message) ?? []
        all.set(block.message, its)
        if (before?.kind === "thinking" && before.message === block.message) its.at(-1)!.push(block)
        else its.push([block])
      }
      before = block
    }
  }
  return all
}

export function outline(turns: readonly Turn[]): string {
  return turns.map(({ role, blocks }) => `${role}[${blocks.map((b) => `${b.kind}@${b.message.slice(4, 16)}`).join(" ")}]`).join(" ")
}

export function excerpt(text: string, length = 90): string {
  return JSON.stringify(text.length > length ? `${text.slice(0, length)}…` : text)
}

const lead = /^§(\d+)§ /
const gap = /<!-- \+\d+[mhdw](?: \d+[mhdw])? -->\n/
/** The host's reminder to drop output. It is at the end of a result or of a user's text. */
export const note = /\n\n<system-reminder>\n(?:(?!<\/system-reminder>)[^])*`ctx_reduce`(?:(?!<\/system-reminder>)[^])*<\/system-reminder>$/
const placeholder = /^\[(?:dropped §(\d+)§|left out §(\d+)§: about \d+ tokens, which do not fit into the window\. .*)\]$/

/** The tag in a placeholder. Undefined if the text is no placeholder. */
function tagOf(text: string): string | undefined {
  const match = placeholder.exec(text)
  return match?.[1] ?? match?.[2]
}


/** The host's frozen edits of a message: the kinds of edits, by tag. */
export type Edits = (message: string) => Map<number, Set<string>>

/** Whether a tag was ever given in the session. */
export type Given = (tag: number) => boolean

/**
 * Removes the tags at the start of a text one by one. Returns the text before the first removal and after each removal.
 */
export function untagged(text: string, given: Given): string[] {
  const all = [text]
  for (;;) {
    const match = /^(\s*)§(\d+)§\s*/.exec(all.at(-1)!)
    if (!match || !given(Number(match[2]))) return all
    all.push(all.at(-1)!.slice(match[0].length))
  }
}

/** Whether a harness may have stored an answer as `stored`: unchanged, or without some of the tags at its start. */
export function mayStore(written: string, stored: string, given: Given): boolean {
  return untagged(written, given).includes(stored)
}

export interface Sent {
  hits: Hit[]
  /** The tag of each unit, by message and part. */
  tags: { tag: number; message: string; part: string }[]
}

/** Checks that each part of a message on the wire is unchanged, or is the result of a stored edit. */
export function content(raw: Message, wire: Message | undefined, edits: Edits, given: Given): Sent {
  const sent: Sent = { hits: [], tags: [] }
  const hit = (rule: string, detail: string) => sent.hits.push({ rule, at: raw.info.id, detail })
  const decided = () => edits(raw.info.id)
  const has = (kind: string, tag?: number) => {
    for (const [its, kinds] of decided()) if ((tag === undefined || its === tag) && kinds.has(kind)) return true
    return false
  }
  if (!wire) {
    hit("message-missing", `message ${raw.info.id} is not in the array any more`)
    return sent
  }
  const shown = (part: Part, text: string, was: string) => {
    const tag = tagOf(text) ?? lead.exec(text)?.[1]
    const own = lead.exec(was)?.[1] ?? tagOf(was)
    if (tag !== undefined && own === undefined) sent.tags.push({ tag: Number(tag), message: raw.info.id, part: part.callID ?? (part.synthetic ? `text ${was.length}` : part.id ?? "") })
  }
  const text = (part: Part, was: string, is: string, what: string) => {
    if (is === was) return
    shown(part, is, was)
    const tag = tagOf(is)
    if (tag !== undefined) {
      if (!["drop", "skeleton", "withhold"].some((kind) => has(kind, Number(tag)))) hit("dropped-unasked", `${what} is dropped as ${is}, and there is no such edit: ${excerpt(was)}`)
      return
    }
    // Some providers refuse an empty text, so the host may send "[dropped]" in its place.
    if (is === "[dropped]" && (has("shell") || was === "")) return
    const tagged = lead.exec(is)
    const body = (tagged ? is.slice(tagged[0].length) : is).replace(note, "")
    const candidates = untagged(was, given)
    if (has("strip")) candidates.push(stripped(was))
    const bodies = [body, body.replace(gap, "")]
    if (!bodies.some((b) => candidates.includes(b))) hit("altered", `${what} was ${excerpt(was)} and is sent as ${excerpt(is)}`)
  }
  const left = new Map(wire.parts.map((part) => [part.callID ?? part.id, part]))
  let missingCalls = 0
  let missingTexts = 0
  for (const part of raw.parts) {
    const is = left.get(part.callID ?? part.id)
    left.delete(part.callID ?? part.id)
    switch (part.type) {
      case "text":
        if (!is) missingTexts += part.text === "" ? 0 : 1
        else if (is.text === undefined) hit("altered", `a text became a ${is.type}`)
        else text(part, part.text!, is.text, `a text of ${raw.info.id}`)
        break
      case "file":
        if (!is) hit("file-missing", `a file of ${raw.info.id} is gone`)
        else if (is.type === "text") text(part, "", is.text!, "a file")
        else if (is.url !== part.url) hit("altered", "a file has another address")
        break
      case "tool":
        if (!is) missingCalls++
        else call(part, is)
        break
    }
  }
  const drops = [...decided().values()].filter((kinds) => kinds.has("drop")).length
  if (missingCalls > drops && !has("shell")) hit("dropped-unasked", `${missingCalls} calls of ${raw.info.id} are gone, and ${drops} units of it are dropped`)
  if (missingTexts > 0 && !has("shell")) hit("text-missing", `${missingTexts} texts of ${raw.info.id} are gone`)
  for (const part of left.values()) {
    if (part.syntheticTodoMarker !== true) hit("extra-part", `a part that nobody wrote: ${excerpt(JSON.stringify(part))}`)
  }
  return sent

  function call(part: Part, is: Part): void {
    const [was, now] = [part.state!, is.state!]
    const name = `the result of ${part.tool} ${part.callID}`
    for (const member of ["output", "error"] as const) {
      if (typeof was[member] === "string") text(part, was[member], now[member] ?? "", name)
    }
    const interrupted = was.metadata?.output
    if (was.metadata?.interrupted && typeof interrupted === "string") text(part, interrupted, String(now.metadata?.output), name)
    const [before, after] = [JSON.stringify(was.input), JSON.stringify(now.input)]
    if (before === after) return
    // Some messages must contain a call. If such a call is dropped, it stays as a skeleton. The skeleton's result is a
    // placeholder, or OpenCode's text for a pruned output.
    const result = tagOf(resultOf(now))
    const isDropped = result ? has("drop", Number(result)) : (was.output === undefined || was.time?.compacted !== undefined) && has("drop")
    if (!has("clamp") && !has("skeleton") && !isDropped) hit("altered", `the arguments of ${part.callID} were ${excerpt(before)} and are ${excerpt(after)}`)
    else if (!isClamped(was.input as Record<string, unknown>, now.input as Record<string, unknown>)) hit("altered", `no clamp makes ${excerpt(after)} of ${excerpt(before)}`)
  }
}

/** OpenCode's replacement for a pruned output. */
const pruned = "[Old tool result content cleared]"

function resultOf({ output, error, metadata, time }: NonNullable<Part["state"]>): string {
  if (time?.compacted) return pruned
  return metadata?.interrupted && typeof metadata.output === "string" ? metadata.output : (output ?? error ?? "")
}

/** Returns the message's calls that are sent without their results, by call id. */
export function skeletons(wire: Message): Map<string, string> {
  const found = new Map<string, string>()
  for (const part of wire.parts) {
    if (part.type !== "tool") continue
    const result = resultOf(part.state!)
    if (placeholder.test(result) || result === pruned) found.set(part.callID!, substance({ ...wire, parts: [part] }))
  }
  return found
}

function isClamped(was: Record<string, unknown>, is: Record<string, unknown>): boolean {
  if (Object.keys(was).join() !== Object.keys(is).join()) return false
  return Object.entries(was).every(([name, value]) => {
    const now = is[name]
    if (JSON.stringify(now) === JSON.stringify(value)) return true
    if (typeof value === "string") return typeof now === "string" && now.endsWith("...[truncated]") && value.startsWith(now.slice(0, -"...[truncated]".length))
    return now === "[object]" || now === `[${(value as unknown[]).length} items]`
  })
}

function stripped(text: string): string {
  return text.replaceAll(/<system-reminder>.*?<\/system-reminder>/gis, "").trim()
}

/**
 * Returns the content of a message that must be equal in two requests: everything except reasoning and the host's
 * additions.
 */
export function substance(wire: Message): string {
  let all = ""
  for (const { type, text, state, url, callID, syntheticTodoMarker } of wire.parts) {
    if (syntheticTodoMarker) continue
    if (type === "text") all += `text ${text}\n`
    else if (type === "file") all += `file ${url}\n`
    else if (type === "tool") all += `call ${callID} ${JSON.stringify(state!.input)}: ${resultOf(state!)}\n`
  }
  return all
}

/** Whether a message has content that could be lost. A refused answer, for example, has none. */
export function hasContent({ parts }: Message): boolean {
  return parts.some(({ type, text, ignored }) => type === "tool" || (type === "text" && !ignored && text !== ""))
}

/** Whether `now` begins with all blocks of `before`, in the same messages. */
export function stands(before: readonly Turn[], now: readonly Turn[]): boolean {
  const names = (turns: readonly Turn[]) => turns.flatMap(({ role, blocks }) => blocks.map((b) => JSON.stringify({ ...b, role, part: "" })))
  const all = names(now)
  return names(before).every((name, i) => name === all[i])
}
