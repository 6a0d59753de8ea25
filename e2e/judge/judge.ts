// A judge that shares no code with magicctx. For each pass, it converts the raw array and the wire to OpenCode's
// requests, and checks both against the rules of the providers. If both break the same rule, the harness or the model
// is to blame, and the judge reports no violation.
import { type Body, type ConverterName, Refusal, convert, converters } from "./convert.ts"
import { type Evidence, evidenceOf } from "./evidence.ts"
import { type Message, asked } from "./opencode.ts"
import { asPi } from "./opencode2.ts"
import { type Step, convertPi, evidenceOfPi, speaks } from "./pi.ts"
import { anthropic, bedrock } from "./rules/claude.ts"
import { compatible, mistral, openai } from "./rules/chat.ts"
import { google } from "./rules/google.ts"
import { responses } from "./rules/responses.ts"
import type { Finding, Rules } from "./rules/rule.ts"
import { translate } from "./translate.ts"

export type { Message } from "./opencode.ts"

export interface Violation {
  rule: string
  /** The converter, and the place in its request. */
  where: string
  detail: string
}

export const rulesOf: Record<ConverterName, Rules> = {
  anthropic,
  vertex: anthropic,
  gateway: anthropic,
  bedrock,
  openai: responses,
  "openai-chat": openai,
  copilot: openai,
  "openai-compatible": compatible,
  google,
  mistral,
}

/** The converters for each profile. An unknown provider may use any of several packages. */
const convertersOf = {
  anthropic: ["anthropic"],
  bedrock: ["bedrock"],
  vertex: ["vertex"],
  openai: ["openai"],
  copilot: ["copilot"],
  "openai-compatible": ["openai-compatible"],
  google: ["google"],
  unknown: ["openai-compatible", "mistral", "gateway"],
  "openai-chat": ["openai-chat"],
  mistral: ["mistral"],
} as const satisfies Record<string, ConverterName[]>

export type Profile = keyof typeof convertersOf

/** The profiles of the host, and two more converters. */
export const profiles = Object.keys(convertersOf) as Profile[]

export interface Case {
  raw: Message[]
  wire: Message[]
  profile: string
  /** For "pi" and "opencode2", the arrays contain steps. The default is "opencode". */
  harness?: "opencode" | "opencode2" | "pi" | undefined
  /**
   * The provider and the id of the model that answers, as OpenCode names them. If this is missing, the judge takes the
   * model from the newest user message of the raw array, because OpenCode chooses the model before a plugin changes the
   * array.
   */
  model?: { provider: string; id: string } | undefined
  /** Whether the model's thinking is bound to the prompt before it. */
  binds?: boolean | undefined
  /** The text on the wire that has the host's cache breakpoint. */
  marked?: string | undefined
}

export async function judge(c: Case): Promise<Violation[]> {
  if (c.harness === "opencode2") return judge({ ...c, harness: "pi", raw: c.raw.map((m) => asPi(m as never) as never), wire: c.wire.map((m) => asPi(m as never) as never) })
  const found: Violation[] = []
  for (const name of judgesOf(c)) found.push(...(await judgeBy(name, c)))
  return found
}

/**
 * Returns the converters for a case. Steps (of Pi and OpenCode 2) can be converted only for some providers, so the
 * other converters are left out.
 */
export function judgesOf(c: Pick<Case, "profile" | "harness">): ConverterName[] {
  if (!(c.profile in convertersOf)) throw new Error(`unknown profile ${JSON.stringify(c.profile)}`)
  const all = convertersOf[c.profile as Profile]
  switch (c.harness) {
    case undefined:
    case "opencode":
      return [...all]
    case "opencode2":
    case "pi":
      return all.filter((name) => speaks(name))
    default:
      throw new Error(`no converters for the harness ${JSON.stringify(c.harness)}`)
  }
}

async function judgeBy(name: ConverterName, c: Case): Promise<Violation[]> {
  const { raw, wire } = c.harness === "pi" ? c : translate(c.raw, c.wire, converters[name].npm)
  const evidence = c.harness === "pi" ? evidenceOfPi(raw as unknown as Step[], c.binds ?? false) : evidenceOf(raw, c.binds ?? false)
  const broken = await check(name, wire, c, { ...evidence, marked: c.marked })
  if (broken.length === 0) return []
  const excused = new Map<string, number>()
  const already = new Set<string>()
  for (const f of await check(name, raw, c, evidence)) {
    excused.set(identity(f), (excused.get(identity(f)) ?? 0) + 1)
    already.add(f.rule)
  }
  return broken.flatMap((f) => {
    if (already.has(moot[f.rule] ?? moot[identity(f)] ?? "")) return []
    const left = excused.get(identity(f)) ?? 0
    excused.set(identity(f), left - 1)
    return left > 0 ? [] : [{ rule: f.rule, where: `${name}: ${f.where}`, detail: f.detail }]
  })
}

/**
 * Some violations of the wire do not matter, because the raw array is already broken in a way that makes them harmless.
 * A key is a rule, or the identity of a finding. If the wire breaks it, but the raw array breaks the rule in its value,
 * the judge reports nothing:
 *
 *   thinking-newest     The raw array's last answer does not begin with its thinking, for example because the harness
 *                       asked the model twice in one turn. Then it does not matter which thinking follows.
 *   thinking-first      The raw array ends with an answer. Then the provider refuses the request in any case.
 *   breakpoint-content  The raw array contains a blank text. Then the provider refuses it with or without a breakpoint.
 */
const moot: Record<string, string> = {
  "thinking-newest": "thinking-first",
  "thinking-first": "last-role",
  "breakpoint-content\ntext": "text-blank",
}

interface Named extends Finding {
  rule: string
}

const identity = (f: Named): string => `${f.rule}\n${f.key ?? ""}`

async function check(name: ConverterName, array: Message[], c: Case, evidence: Evidence): Promise<Named[]> {
  let body: Body
  try {
    body = c.harness === "pi" ? convertPi(name, array as unknown as Step[], c.raw as unknown as Step[]) : await convert(name, { array, model: c.model ?? asked(c.raw) })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [{ rule: "convertible", where: "array", detail: error.message }]
  }
  if (body === undefined) return [{ rule: "convertible", where: "array", detail: "nothing is left to send" }]
  return checkBody(name, body, evidence)
}

export function checkBody(name: ConverterName, body: Body, evidence: Evidence): Named[] {
  return Object.entries(rulesOf[name]).flatMap(([rule, find]) => find(body, evidence).map((f) => ({ ...f, rule })))
}
