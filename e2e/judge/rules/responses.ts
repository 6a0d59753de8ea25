import type { Body } from "../convert.ts"
import { type Finding, type Rule, type Rules, isBlank, twice } from "./rule.ts"

interface Item {
  type?: string
  role?: string
  id?: string
  call_id?: string
  name?: string
  arguments?: string
  encrypted_content?: string
  summary?: { text: string }[]
  content?: string | { type: string; text?: string; image_url?: string }[]
  output?: string | { type: string; image_url?: string }[]
}

const input = (body: Body): Item[] => body.input ?? []
const at = (i: number): string => `input[${i}]`

/** Each call must have an output after it, and each output a call before it. */
const callsHaveOutputs: Rule = (body) => {
  const all = input(body)
  return all.flatMap((item, i): Finding[] => {
    const id = item.call_id ?? ""
    if (item.type === "function_call" && !all.some((o, j) => j > i && o.type === "function_call_output" && o.call_id === id))
      return [{ where: at(i), detail: `no output for call ${id}`, key: id }]
    if (item.type === "function_call_output" && !all.some((c, j) => j < i && c.type === "function_call" && c.call_id === id))
      return [{ where: at(i), detail: `no call for output ${id}`, key: id }]
    return []
  })
}

const oneOutputEach: Rule = (body) => {
  const ids = (type: string): string[] => input(body).filter((x) => x.type === type).map((x) => x.call_id ?? "")
  return [...twice(ids("function_call")), ...twice(ids("function_call_output"))].map((id) => ({ where: "input", detail: `${id} occurs twice`, key: id }))
}

const isOutput = (item: Item | undefined): boolean => item?.type === "function_call" || item?.role === "assistant"

/** A reasoning item must be followed by the item that it led to. */
const reasoningIsFollowed: Rule = (body) => {
  const all = input(body)
  return all.flatMap((item, i) => {
    if (item.type !== "reasoning") return []
    const next = all.slice(i + 1).find((x) => x.type !== "reasoning")
    return isOutput(next) ? [] : [{ where: at(i), detail: `reasoning is followed by ${next?.type ?? next?.role ?? "nothing"}`, key: item.id ?? item.encrypted_content ?? "" }]
  })
}

/** Reasoning is whole and unchanged. */
const reasoningIsUnchanged: Rule = (body, { proofs }) =>
  input(body).flatMap((item, i) => {
    if (item.type !== "reasoning" || item.encrypted_content === undefined) return []
    const texts = proofs.get(item.encrypted_content)
    const text = (item.summary ?? []).map((s) => s.text).join("")
    return texts?.has(text) ? [] : [{ where: at(i), detail: `reasoning ${JSON.stringify(text.slice(0, 40))} carries ${item.encrypted_content.slice(0, 24)}`, key: item.encrypted_content }]
  })

/** If the provider does not store reasoning, the request must contain the reasoning's content. */
const reasoningIsCarried: Rule = (body) =>
  body.store === false ? input(body).flatMap((item, i) => (item.type === "item_reference" || (item.type === "reasoning" && !item.encrypted_content) ? [{ where: at(i), detail: "an item that nobody has stored", key: item.id ?? "" }] : [])) : []

/** While a turn is running, the request must contain the reasoning before the newest calls. */
const newestReasoningStays: Rule = (body, { binds, ofCall }) => {
  const all = input(body)
  if (binds || all.at(-1)?.type !== "function_call_output") return []
  const i = all.findLastIndex((x) => x.type === "function_call")
  const given = ofCall.get(all[i]?.call_id ?? "") ?? []
  const there = new Set(all.map((x) => x.encrypted_content))
  return given.filter((proof) => !there.has(proof)).map((proof) => ({ where: at(i), detail: `the reasoning that led to ${all[i]?.call_id} is missing`, key: proof }))
}

const idsAreWellFormed: Rule = (body) =>
  input(body).flatMap((x, i) => (x.call_id !== undefined && !/^.{1,64}$/s.test(x.call_id) ? [{ where: at(i), detail: `the id ${JSON.stringify(x.call_id)}`, key: x.call_id }] : []))

const namesAreWellFormed: Rule = (body) =>
  input(body).flatMap((x, i) => (x.type === "function_call" && !/^[a-zA-Z0-9_-]{1,128}$/.test(x.name ?? "") ? [{ where: at(i), detail: `the tool ${JSON.stringify(x.name)}`, key: x.name ?? "" }] : []))

const argumentsAreJSON: Rule = (body) =>
  input(body).flatMap((x, i) => {
    if (x.type !== "function_call") return []
    try {
      JSON.parse(x.arguments ?? "")
      return []
    } catch {
      return [{ where: at(i), detail: `the arguments of ${x.call_id} are ${x.arguments?.slice(0, 40)}`, key: x.call_id ?? "" }]
    }
  })

const messagesSay: Rule = (body) =>
  input(body).flatMap((x, i) => {
    if (x.role !== "user" && x.role !== "assistant") return []
    const says = typeof x.content === "string" ? !isBlank(x.content) : (x.content ?? []).some((p) => p.text === undefined || !isBlank(p.text))
    return says ? [] : [{ where: at(i), detail: `a message of the ${x.role} without content`, key: x.role }]
  })

const imagesAreGood: Rule = (body) =>
  input(body).flatMap((x, i) => {
    const parts = [...(Array.isArray(x.content) ? x.content : []), ...(Array.isArray(x.output) ? x.output : [])]
    return parts.flatMap((p): Finding[] => {
      if (p.type !== "input_image") return []
      const url = p.image_url ?? ""
      const key = url.slice(0, 60)
      if (x.role === "assistant") return [{ where: at(i), detail: "an image of the assistant", key }]
      return /^https?:|^data:image\/(png|jpeg|gif|webp);base64,./.test(url) ? [] : [{ where: at(i), detail: `the image ${key}`, key }]
    })
  })

export const responses: Rules = {
  "call-pairs": callsHaveOutputs,
  "result-twice": oneOutputEach,
  "reasoning-followed": reasoningIsFollowed,
  "thinking-signature": reasoningIsUnchanged,
  "reasoning-carried": reasoningIsCarried,
  "thinking-newest": newestReasoningStays,
  "call-id": idsAreWellFormed,
  "tool-name": namesAreWellFormed,
  "input-object": argumentsAreJSON,
  "content-empty": messagesSay,
  image: imagesAreGood,
}
