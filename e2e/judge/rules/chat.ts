// The rules of OpenAI's chat completions, of compatible providers, and of Mistral.
import type { Body } from "../convert.ts"
import { type Finding, type Rule, type Rules, isBlank, twice } from "./rule.ts"

interface Call {
  id: string
  function?: { name?: string; arguments?: string }
}

interface ChatMessage {
  role: string
  content?: string | { type: string; text?: string; image_url?: string | { url: string } }[] | null
  tool_calls?: Call[]
  tool_call_id?: string
  prefix?: boolean
}

const messages = (body: Body): ChatMessage[] => body.messages ?? []
const isSystem = (m: ChatMessage): boolean => m.role === "system" || m.role === "developer"
const calls = (m: ChatMessage | undefined): Call[] => m?.tool_calls ?? []
const at = (i: number): string => `messages[${i}]`

/** The tool messages directly after message i. */
function answersTo(all: ChatMessage[], i: number): ChatMessage[] {
  const end = all.findIndex((m, j) => j > i && m.role !== "tool")
  return all.slice(i + 1, end < 0 ? undefined : end)
}

/** Each call must have its result directly after its message, and each result must belong to a call of that message. */
const callsHaveResults: Rule = (body) => {
  const all = messages(body)
  const found: Finding[] = []
  for (const [i, m] of all.entries()) {
    const answered = calls(m).length > 0 ? answersTo(all, i).map((a) => a.tool_call_id) : []
    for (const c of calls(m)) if (!answered.includes(c.id)) found.push({ where: at(i), detail: `call ${c.id} is not answered right after it`, key: c.id })
    if (m.role !== "tool") continue
    const asker = all.findLastIndex((b, j) => j < i && b.role !== "tool")
    if (!calls(all[asker]).some((c) => c.id === m.tool_call_id)) found.push({ where: at(i), detail: `answer ${m.tool_call_id} has no call right before it`, key: m.tool_call_id ?? "" })
  }
  return found
}

const oneResultEach: Rule = (body) => {
  const all = messages(body)
  return all.flatMap((m, i) => (calls(m).length > 0 ? twice(answersTo(all, i).map((a) => a.tool_call_id ?? "")).map((id) => ({ where: at(i), detail: `two answers to ${id}`, key: id })) : []))
}

/** An answer has content or calls a tool. */
const assistantSays: Rule = (body) =>
  messages(body).flatMap((m, i) => (m.role === "assistant" && calls(m).length === 0 && isEmpty(m) ? [{ where: at(i), detail: "an answer without content and calls", key: "assistant" }] : []))

const userSays: Rule = (body) => messages(body).flatMap((m, i) => (m.role === "user" && isEmpty(m) ? [{ where: at(i), detail: "a message of the user without content", key: "user" }] : []))

function isEmpty(m: ChatMessage): boolean {
  if (typeof m.content === "string") return isBlank(m.content)
  return (m.content ?? []).every((p) => p.type === "text" && isBlank(p.text))
}

const idsAreUnique: Rule = (body) => messages(body).flatMap((m, i) => twice(calls(m).map((c) => c.id)).map((id) => ({ where: at(i), detail: `two calls with the id ${id} in one message`, key: id })))

const idsAreWellFormed = (pattern: RegExp): Rule => (body) =>
  messages(body).flatMap((m, i) => calls(m).filter((c) => !pattern.test(c.id)).map((c) => ({ where: at(i), detail: `the id ${JSON.stringify(c.id)}`, key: c.id })))

const namesAreWellFormed: Rule = (body) =>
  messages(body).flatMap((m, i) =>
    calls(m).filter((c) => !/^[a-zA-Z0-9_-]{1,64}$/.test(c.function?.name ?? "")).map((c) => ({ where: at(i), detail: `the tool ${JSON.stringify(c.function?.name)}`, key: c.function?.name ?? "" })),
  )

const argumentsAreJSON: Rule = (body) =>
  messages(body).flatMap((m, i) =>
    calls(m).filter((c) => !isObject(c.function?.arguments)).map((c) => ({ where: at(i), detail: `the arguments of ${c.id} are ${c.function?.arguments?.slice(0, 40)}`, key: c.id })),
  )

function isObject(text: string | undefined): boolean {
  try {
    const value: unknown = JSON.parse(text ?? "")
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

const imagesAreGood: Rule = (body) =>
  messages(body).flatMap((m, i) => {
    if (!Array.isArray(m.content)) return []
    return m.content.flatMap((p): Finding[] => {
      if (p.type !== "image_url") return []
      const url = (typeof p.image_url === "string" ? p.image_url : p.image_url?.url) ?? ""
      const key = url.slice(0, 60)
      if (m.role !== "user") return [{ where: at(i), detail: `an image of the ${m.role}`, key }]
      return /^https?:|^data:image\/(png|jpeg|gif|webp);base64,./.test(url) ? [] : [{ where: at(i), detail: `the image ${key}`, key }]
    })
  })

/** The last message must be a prompt or a tool's result. If it were an answer, Mistral would continue the answer. */
const lastAsks: Rule = (body) => {
  const all = messages(body)
  const last = all.at(-1)
  return last && last.role !== "user" && last.role !== "tool" ? [{ where: at(all.length - 1), detail: `the last message is the ${last.role}'s` }] : []
}

/** The roles that may follow each role. */
const followers: Record<string, string[]> = {
  system: ["system", "user", "assistant"],
  user: ["user", "assistant", "system"],
  assistant: ["user", "assistant", "tool"],
  tool: ["assistant", "tool"],
}

const orderOfRoles: Rule = (body) => {
  const all = messages(body)
  return all.flatMap((m, i) => {
    const before = all[i - 1]
    return before && !followers[before.role]?.includes(m.role) ? [{ where: at(i), detail: `${m.role} after ${before.role}`, key: `${before.role} ${m.role}` }] : []
  })
}

const firstIsUser: Rule = (body) => {
  const i = messages(body).findIndex((m) => !isSystem(m))
  const first = messages(body)[i]
  return first && first.role !== "user" ? [{ where: at(i), detail: `the first message is the ${first.role}'s` }] : []
}

const common: Rules = {
  "call-pairs": callsHaveResults,
  "result-twice": oneResultEach,
  "call-id-unique": idsAreUnique,
  "tool-name": namesAreWellFormed,
  "input-object": argumentsAreJSON,
  "content-empty": userSays,
  image: imagesAreGood,
}

export const openai: Rules = { ...common, "call-id": idsAreWellFormed(/^.{1,40}$/s) }

/** Some compatible servers refuse an empty answer, and some demand that the first message is the user's. */
export const compatible: Rules = { ...common, "call-id": idsAreWellFormed(/^.{1,64}$/s), "answer-empty": assistantSays, "first-role": firstIsUser, "last-role": lastAsks }

export const mistral: Rules = {
  ...common,
  "call-id": idsAreWellFormed(/^[a-zA-Z0-9]{9}$/),
  "answer-empty": assistantSays,
  "last-role": lastAsks,
  "role-order": orderOfRoles,
}
