import type { Body } from "../convert.ts"
import { type Finding, type Rule, type Rules, isBlank } from "./rule.ts"

interface GooglePart {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  functionCall?: { name?: string; args?: unknown }
  functionResponse?: { name?: string; response?: unknown }
  inlineData?: { mimeType?: string; data?: string }
  fileData?: { mimeType?: string; fileUri?: string }
}

interface Content {
  role: string
  parts: GooglePart[]
}

const contents = (body: Body): Content[] => body.contents ?? []
const calls = (c: Content | undefined): GooglePart[] => c?.parts.filter((p) => p.functionCall) ?? []
const responses = (c: Content | undefined): GooglePart[] => c?.parts.filter((p) => p.functionResponse) ?? []
const at = (i: number): string => `contents[${i}]`
const named = (c: Content | undefined): string => [...calls(c).map((p) => p.functionCall?.name), ...responses(c).map((p) => p.functionResponse?.name)].join(" ")

const firstIsUser: Rule = (body) => {
  const [first] = contents(body)
  return first && first.role !== "user" ? [{ where: at(0), detail: "the first content is the model's" }] : []
}

const lastIsUser: Rule = (body) => {
  const all = contents(body)
  return all.length > 0 && all.at(-1)?.role !== "user" ? [{ where: at(all.length - 1), detail: "the last content is the model's" }] : []
}

const partsAreThere: Rule = (body) => contents(body).flatMap((c, i) => (c.parts.length === 0 ? [{ where: at(i), detail: `a content of the ${c.role} without parts`, key: c.role }] : []))

const textIsNotBlank: Rule = (body) =>
  contents(body).flatMap((c, i) => c.parts.flatMap((p, j) => (p.text !== undefined && p.text === "" ? [{ where: `${at(i)}.parts[${j}]`, detail: `an empty text of the ${c.role}`, key: c.role }] : [])))

/** Calls may only be in a message that follows a message of the user or a message with responses. */
const callsFollowUser: Rule = (body) => {
  const all = contents(body)
  return all.flatMap((c, i) => (calls(c).length > 0 && all[i - 1]?.role !== "user" ? [{ where: at(i), detail: `a call (${named(c)}) after ${all[i - 1] ? "a turn of the model" : "nothing"}` }] : []))
}

/** The message after calls must contain one response for each call, with the same names. */
const callsHaveResponses: Rule = (body) => {
  const all = contents(body)
  return all.flatMap((c, i): Finding[] => {
    if (calls(c).length > 0) {
      const wanted = calls(c).map((p) => p.functionCall?.name).sort().join(" ")
      const got = responses(all[i + 1]).map((p) => p.functionResponse?.name).sort().join(" ")
      return wanted === got ? [] : [{ where: at(i), detail: `calls of ${wanted} are answered by ${got || "nothing"}`, key: wanted }]
    }
    return responses(c).length > 0 && calls(all[i - 1]).length === 0 ? [{ where: at(i), detail: `responses (${named(c)}) without calls right before`, key: named(c) }] : []
  })
}

/** In the current turn, the first call of each step must have the signature from the model. */
const firstCallsAreSigned: Rule = (body) => {
  const all = contents(body)
  const turn = all.findLastIndex((c) => c.role === "user" && responses(c).length === 0)
  return all.flatMap((c, i) => {
    const [first] = calls(c)
    return i > turn && first && !first.thoughtSignature ? [{ where: at(i), detail: `the first call of a step (${first.functionCall?.name}) has no thought signature` }] : []
  })
}

/** Each signature must come from the model, and a thought must still have the text that belongs to its signature. */
const signaturesHold: Rule = (body, { proofs }) =>
  contents(body).flatMap((c, i) =>
    c.parts.flatMap((p, j) => {
      if (p.thoughtSignature === undefined) return []
      const texts = proofs.get(p.thoughtSignature)
      const holds = texts !== undefined && (!p.thought || texts.has(p.text ?? ""))
      return holds ? [] : [{ where: `${at(i)}.parts[${j}]`, detail: `${JSON.stringify(p.text?.slice(0, 40) ?? p.functionCall?.name)} carries ${p.thoughtSignature.slice(0, 24)}`, key: p.thoughtSignature }]
    }),
  )

const namesAreWellFormed: Rule = (body) =>
  contents(body).flatMap((c, i) => calls(c).filter((p) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(p.functionCall?.name ?? "")).map((p) => ({ where: at(i), detail: `the tool ${JSON.stringify(p.functionCall?.name)}`, key: p.functionCall?.name ?? "" })))

const argumentsAreObjects: Rule = (body) =>
  contents(body).flatMap((c, i) =>
    calls(c).filter(({ functionCall: f }) => typeof f?.args !== "object" || f.args === null || Array.isArray(f.args)).map((p) => ({ where: at(i), detail: `the arguments of ${p.functionCall?.name} are ${JSON.stringify(p.functionCall?.args)?.slice(0, 40)}`, key: p.functionCall?.name ?? "" })),
  )

const imagesAreGood: Rule = (body) =>
  contents(body).flatMap((c, i) =>
    c.parts.flatMap((p): Finding[] => {
      const mime = p.inlineData?.mimeType
      if (!mime?.startsWith("image/")) return []
      const key = `${mime} ${p.inlineData?.data?.slice(0, 40)}`
      if (isBlank(p.inlineData?.data)) return [{ where: at(i), detail: "an image without data", key }]
      return ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"].includes(mime) ? [] : [{ where: at(i), detail: `an image of type ${mime}`, key }]
    }),
  )

export const google: Rules = {
  "first-role": firstIsUser,
  "last-role": lastIsUser,
  "content-empty": partsAreThere,
  "text-blank": textIsNotBlank,
  "call-place": callsFollowUser,
  "call-pairs": callsHaveResponses,
  "call-signature": firstCallsAreSigned,
  "thinking-signature": signaturesHold,
  "tool-name": namesAreWellFormed,
  "input-object": argumentsAreObjects,
  image: imagesAreGood,
}
