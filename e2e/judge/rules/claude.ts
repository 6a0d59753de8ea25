// The rules of Claude's messages in Anthropic's API, in Vertex and in Bedrock's Converse.
import type { Body } from "../convert.ts"
import type { Evidence } from "../evidence.ts"
import { type Finding, type Rules, isBlank, twice } from "./rule.ts"

interface Block {
  type: "text" | "thinking" | "redacted" | "call" | "result" | "image" | "document" | "cache" | "unknown"
  text?: string
  /** The signature or the redacted data of thinking. */
  proof?: string
  id?: string
  name?: string
  input?: unknown
  mime?: string
  data?: string
  inside?: Block[]
  cached?: boolean
}

interface Turn {
  role: string
  blocks: Block[]
}

interface Prompt {
  turns: Turn[]
  thinks: boolean
  breakpoints: number
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any

function fromAnthropic(body: Body): Prompt {
  const listed = (content: Any): Any[] => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []))
  const block = (b: Any): Block => {
    const cached = b.cache_control != null
    switch (b.type) {
      case "text":
        return { type: "text", text: b.text, cached }
      case "thinking":
        return { type: "thinking", text: b.thinking, proof: b.signature, cached }
      case "redacted_thinking":
        return { type: "redacted", proof: b.data, cached }
      case "tool_use":
        return { type: "call", id: b.id, name: b.name, input: b.input, cached }
      case "tool_result":
        return { type: "result", id: b.tool_use_id, inside: listed(b.content).map(block), cached }
      case "image":
        return { type: "image", mime: b.source?.media_type, data: b.source?.data ?? b.source?.url, cached }
      case "document":
        return { type: "document", mime: b.source?.media_type, data: b.source?.data ?? b.source?.url, cached }
    }
    return { type: "unknown", text: JSON.stringify(b).slice(0, 80) }
  }
  const turns = (body.messages ?? []).map((m: Any) => ({ role: m.role, blocks: listed(m.content).map(block) }))
  const all = [...listed(body.system), ...(body.tools ?? []), ...(body.messages ?? []).flatMap((m: Any) => listed(m.content))]
  const thinking = body.thinking?.type
  return { turns, thinks: thinking === "enabled" || thinking === "adaptive", breakpoints: all.filter((b) => b.cache_control != null).length }
}

function fromBedrock(body: Body): Prompt {
  let breakpoints = (body.system ?? []).filter((b: Any) => b.cachePoint).length
  const block = (b: Any): Block => {
    if (b.text !== undefined) return { type: "text", text: b.text }
    if (b.toolUse) return { type: "call", id: b.toolUse.toolUseId, name: b.toolUse.name, input: b.toolUse.input }
    if (b.toolResult) return { type: "result", id: b.toolResult.toolUseId, inside: (b.toolResult.content ?? []).map(block) }
    if (b.image) return { type: "image", mime: `image/${b.image.format}`, data: b.image.source?.bytes }
    if (b.document) return { type: "document", mime: b.document.format, data: b.document.source?.bytes }
    const thinking = b.reasoningContent
    if (thinking?.reasoningText) return { type: "thinking", text: thinking.reasoningText.text, proof: thinking.reasoningText.signature }
    if (thinking) return { type: "redacted", proof: thinking.redactedContent ?? thinking.redactedReasoning?.data }
    if (b.cachePoint) breakpoints++
    return b.cachePoint ? { type: "cache" } : { type: "unknown", text: JSON.stringify(b).slice(0, 80) }
  }
  /** In Bedrock, a breakpoint is a block of its own, after the block that it marks. */
  const blocks = (content: Any[]): Block[] => content.map((b, i) => ({ ...block(b), cached: content[i + 1]?.cachePoint != null }))
  const turns = (body.messages ?? []).map((m: Any) => ({ role: m.role, blocks: blocks(m.content) }))
  const thinking = body.additionalModelRequestFields?.thinking?.type
  return { turns, thinks: thinking === "enabled" || thinking === "adaptive", breakpoints }
}

const isThinking = (b: Block): boolean => b.type === "thinking" || b.type === "redacted"
const visible = (t: Turn): Block[] => t.blocks.filter((b) => b.type !== "cache")
const calls = (t: Turn | undefined): Block[] => t?.blocks.filter((b) => b.type === "call") ?? []
const results = (t: Turn | undefined): Block[] => t?.blocks.filter((b) => b.type === "result") ?? []

type Check = (p: Prompt, e: Evidence) => Finding[]

const firstIsUser: Check = ({ turns: [first] }) => (first && first.role !== "user" ? [{ where: "messages[0]", detail: `the first message is the ${first.role}'s` }] : [])

/**
 * The conversation must end with a message of the user. If it ended with an answer, the model would have to continue
 * this answer. Current models refuse that, and so does every model that thinks.
 */
const lastIsUser: Check = ({ turns }) => {
  const last = turns.at(-1)
  return last && last.role !== "user" ? [{ where: `messages[${turns.length - 1}]`, detail: `the last message is the ${last.role}'s` }] : []
}

/**
 * In Bedrock, messages of the user and the assistant must alternate. Anthropic's own API accepts two messages of one
 * role in a row, and joins them.
 */
const rolesAlternate: Check = ({ turns }) =>
  turns.flatMap((t, i) => (turns[i - 1]?.role === t.role ? [{ where: `messages[${i}]`, detail: `two messages of the ${t.role} in a row`, key: t.role }] : []))

const contentIsNotEmpty: Check = ({ turns }) =>
  turns.flatMap((t, i) => (visible(t).length === 0 ? [{ where: `messages[${i}]`, detail: `a message of the ${t.role} without content`, key: t.role }] : []))

/** No text may be blank, neither in a message nor in a result that is a list. */
const textIsNotBlank: Check = ({ turns }) =>
  turns.flatMap((t, i) =>
    t.blocks.flatMap((b, j) => (b.type === "text" && isBlank(b.text) ? [{ where: `messages[${i}].content[${j}]`, detail: `a blank text of the ${t.role}: ${JSON.stringify(b.text)}`, key: t.role }] : [])),
  )

/**
 * The next message must contain the result of each call, and the previous message must contain the call of each result.
 */
const callsHaveResults: Check = ({ turns }) =>
  turns.flatMap((t, i) => {
    const answered = new Set(results(turns[i + 1]).map((b) => b.id))
    const asked = new Set(calls(turns[i - 1]).map((b) => b.id))
    return [
      ...calls(t).filter((b) => !answered.has(b.id)).map((b) => ({ where: `messages[${i}]`, detail: `call ${b.id} has no result in the next message`, key: b.id ?? "" })),
      ...results(t).filter((b) => !asked.has(b.id)).map((b) => ({ where: `messages[${i}]`, detail: `result ${b.id} has no call in the message before`, key: b.id ?? "" })),
    ]
  })

const oneResultEach: Check = ({ turns }) =>
  turns.flatMap((t, i) => twice(results(t).map((b) => b.id ?? "")).map((id) => ({ where: `messages[${i}]`, detail: `two results for ${id}`, key: id })))

const resultsStandFirst: Check = ({ turns }) =>
  turns.flatMap((t, i) => {
    const blocks = visible(t)
    const late = blocks.findIndex((b, j) => b.type === "result" && j > 0 && blocks[j - 1]?.type !== "result")
    return late < 0 ? [] : [{ where: `messages[${i}].content[${late}]`, detail: `result ${blocks[late]?.id} stands after other content`, key: blocks[late]?.id ?? "" }]
  })

/**
 * After the first call of an answer, only calls and thinking may follow. A text would separate the call from its
 * result.
 */
const callsStandLast: Check = ({ turns }) =>
  turns.flatMap((t, i) => {
    const blocks = visible(t)
    const first = blocks.findIndex((b) => b.type === "call")
    if (first < 0) return []
    return blocks.flatMap((b, j) => (j > first && b.type !== "call" && !isThinking(b) ? [{ where: `messages[${i}].content[${j}]`, detail: `${b.type} after call ${blocks[first]?.id}` }] : []))
  })

const idsAreUnique: Check = ({ turns }) =>
  twice(turns.flatMap((t) => calls(t).map((b) => b.id ?? ""))).map((id) => ({ where: "messages", detail: `two calls with the id ${id}`, key: id }))

const idsAreWellFormed = (pattern: RegExp): Check => ({ turns }) =>
  turns.flatMap((t, i) =>
    [...calls(t), ...results(t)].filter((b) => !pattern.test(b.id ?? "")).map((b) => ({ where: `messages[${i}]`, detail: `the id ${JSON.stringify(b.id)}`, key: b.id ?? "" })),
  )

const namesAreWellFormed = (pattern: RegExp): Check => ({ turns }) =>
  turns.flatMap((t, i) => calls(t).filter((b) => !pattern.test(b.name ?? "")).map((b) => ({ where: `messages[${i}]`, detail: `the tool ${JSON.stringify(b.name)}`, key: b.name ?? "" })))

const inputsAreObjects: Check = ({ turns }) =>
  turns.flatMap((t, i) =>
    calls(t).filter((b) => typeof b.input !== "object" || b.input === null || Array.isArray(b.input)).map((b) => ({ where: `messages[${i}]`, detail: `the input of ${b.id} is ${JSON.stringify(b.input)?.slice(0, 40)}`, key: b.id ?? "" })),
  )

/** While a turn with tool calls is running, the last answer of a thinking model must begin with its thinking. */
const thinkingStandsFirst: Check = ({ turns, thinks }, { binds }) => {
  const last = turns.findLastIndex((t) => t.role === "assistant")
  const t = turns[last]
  if (!t || binds || !thinks || !isInLoop(turns) || calls(t).length === 0) return []
  const [first] = visible(t)
  return first && !isThinking(first) ? [{ where: `messages[${last}]`, detail: `the last answer is ${visible(t).map((b) => b.type).join(", ")}` }] : []
}

/** The request continues a turn: it ends with results. */
const isInLoop = (turns: Turn[]): boolean => results(turns.at(-1)).length > 0

/** While a turn is running, the request must contain the thinking before the newest calls. */
const newestThinkingStays: Check = ({ turns, thinks }, { binds, ofCall }) => {
  const last = turns.findLastIndex((t) => t.role === "assistant")
  const t = turns[last]
  if (!t || binds || !thinks || !isInLoop(turns)) return []
  const there = new Set(t.blocks.filter(isThinking).map((b) => b.proof))
  const newest = calls(t).at(-1)?.id ?? ""
  const given = ofCall.get(newest) ?? []
  return given.filter((proof) => !there.has(proof)).map((proof) => ({ where: `messages[${last}]`, detail: `thinking that led to ${newest} is missing (${proof.slice(0, 24)})`, key: proof }))
}

/** If several thinking blocks follow each other, the request must contain all of them in order, or none. */
const runsAreWhole: Check = ({ turns }, { binds, runs }) => {
  const place = new Map<string, { run: string[]; at: number }>()
  for (const run of runs) for (const [at, proof] of run.entries()) place.set(proof, { run, at })
  return turns.flatMap((t, i) => {
    const sent = t.blocks.map((b) => (isThinking(b) ? (b.proof ?? "") : undefined))
    return sent.flatMap((proof, j) => {
      const known = proof === undefined ? undefined : place.get(proof)
      if (!known || binds) return []
      const { run, at } = known
      const next = run[at + 1]
      const before = run[at - 1]
      const broken = (next !== undefined && sent[j + 1] !== next) || (before !== undefined && sent[j - 1] !== before)
      return broken ? [{ where: `messages[${i}].content[${j}]`, detail: `block ${at + 1} of ${run.length} thinking blocks stands without its neighbours`, key: proof ?? "" }] : []
    })
  })
}

/** Thinking is unchanged and carries its original proof. */
const signaturesHold: Check = ({ turns }, { proofs }) =>
  turns.flatMap((t, i) =>
    t.blocks.flatMap((b, j) => {
      if (!isThinking(b)) return []
      const texts = proofs.get(b.proof ?? "")
      const holds = texts !== undefined && (b.type === "redacted" || texts.has(b.text ?? ""))
      return holds ? [] : [{ where: `messages[${i}].content[${j}]`, detail: `thinking ${JSON.stringify(b.text?.slice(0, 40))} carries ${JSON.stringify(b.proof?.slice(0, 40))}`, key: b.proof ?? "" }]
    }),
  )

const thinkingIsTheAssistants: Check = ({ turns }) =>
  turns.flatMap((t, i) => (t.role !== "assistant" && t.blocks.some(isThinking) ? [{ where: `messages[${i}]`, detail: `thinking in a message of the ${t.role}`, key: t.role }] : []))

const Images = ["image/jpeg", "image/png", "image/gif", "image/webp"]

/** Images must have a known type and some content. They are allowed only in messages of the user and in results. */
const imagesAreGood: Check = ({ turns }) =>
  turns.flatMap((t, i) =>
    [...t.blocks, ...t.blocks.flatMap((b) => b.inside ?? [])].flatMap((b): Finding[] => {
      if (b.type !== "image") return []
      const where = `messages[${i}]`
      const key = `${b.mime} ${b.data?.slice(0, 40)}`
      if (t.role !== "user") return [{ where, detail: `an image of the ${t.role}`, key }]
      if (!b.data) return [{ where, detail: "an image without data", key }]
      return b.mime !== undefined && !Images.includes(b.mime) ? [{ where, detail: `an image of type ${b.mime}`, key }] : []
    }),
  )

const fourBreakpoints: Check = ({ breakpoints }) => (breakpoints > 4 ? [{ where: "body", detail: `${breakpoints} cache breakpoints` }] : [])

/**
 * The newest message must end with a breakpoint, so that the next request finds the whole prompt in the cache. If a
 * request has too many breakpoints, the AI SDK's packages remove the last ones, so the breakpoint of the newest message
 * would go first. A request without any breakpoint is allowed, because another program, for example a gateway, may set
 * the breakpoints.
 */
const newestIsCached: Check = ({ turns, breakpoints }) => {
  const last = turns.at(-1)
  return last && breakpoints > 0 && !visible(last).at(-1)?.cached ? [{ where: `messages[${turns.length - 1}]`, detail: "no breakpoint at the end of the prompt" }] : []
}

/** The text that the host marks carries a breakpoint. */
const markedIsCached: Check = ({ turns }, { marked }) =>
  marked === undefined || turns.some((t) => t.blocks.some((b) => b.text === marked && b.cached)) ? [] : [{ where: "messages", detail: `no breakpoint on ${JSON.stringify(marked.slice(0, 40))}` }]

/** Thinking and blank texts must have no breakpoint, and a message must not consist of a breakpoint only. */
const breakpointsHaveContent: Check = ({ turns }) =>
  turns.flatMap((t, i) => [
    ...t.blocks.flatMap((b, j) => (b.cached && (isThinking(b) || (b.type === "text" && isBlank(b.text))) ? [{ where: `messages[${i}].content[${j}]`, detail: `a breakpoint on ${b.type}`, key: b.type }] : [])),
    ...(t.blocks[0]?.type === "cache" ? [{ where: `messages[${i}]`, detail: "a message that begins with a breakpoint", key: "first" }] : []),
  ])

const endIsTrimmed: Check = ({ turns }) => {
  const last = turns.at(-1)
  const block = last && visible(last).at(-1)
  return last?.role === "assistant" && block?.type === "text" && block.text !== block.text?.trimEnd() ? [{ where: `messages[${turns.length - 1}]`, detail: "the last answer ends with white space" }] : []
}

const known: Check = ({ turns }) => turns.flatMap((t, i) => t.blocks.filter((b) => b.type === "unknown").map((b) => ({ where: `messages[${i}]`, detail: `a block that this judge does not know: ${b.text}`, key: b.text ?? "" })))

function rules(read: (body: Body) => Prompt, checks: Record<string, Check>): Rules {
  const last: { body?: Body; prompt?: Prompt } = {} // all rules read the same body
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]) => [
      name,
      (body: Body, e: Evidence) => {
        if (last.body !== body || !last.prompt) [last.body, last.prompt] = [body, read(body)]
        return check(last.prompt, e)
      },
    ]),
  )
}

const common = {
  "first-role": firstIsUser,
  "last-role": lastIsUser,
  "content-empty": contentIsNotEmpty,
  "text-blank": textIsNotBlank,
  "call-pairs": callsHaveResults,
  "result-twice": oneResultEach,
  "call-id-unique": idsAreUnique,
  "input-object": inputsAreObjects,
  "thinking-first": thinkingStandsFirst,
  "thinking-newest": newestThinkingStays,
  "thinking-run": runsAreWhole,
  "thinking-signature": signaturesHold,
  "thinking-role": thinkingIsTheAssistants,
  image: imagesAreGood,
  breakpoints: fourBreakpoints,
  "breakpoint-newest": newestIsCached,
  "breakpoint-marked": markedIsCached,
  "breakpoint-content": breakpointsHaveContent,
  "end-space": endIsTrimmed,
  "block-known": known,
}

export const anthropic: Rules = rules(fromAnthropic, {
  ...common,
  "results-first": resultsStandFirst,
  "calls-last": callsStandLast,
  "call-id": idsAreWellFormed(/^[a-zA-Z0-9_-]+$/),
  "tool-name": namesAreWellFormed(/^[a-zA-Z0-9_-]{1,128}$/),
})

export const bedrock: Rules = rules(fromBedrock, {
  ...common,
  "roles-alternate": rolesAlternate,
  "results-first": resultsStandFirst,
  "calls-last": callsStandLast,
  "call-id": idsAreWellFormed(/^[a-zA-Z0-9_-]{1,64}$/),
  "tool-name": namesAreWellFormed(/^[a-zA-Z0-9_-]{1,64}$/),
})
