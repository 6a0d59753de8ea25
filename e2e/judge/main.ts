// The judge as a program. Stdin holds one case per line, in one of three forms:
//
//   {"raw": [...], "wire": [...], "profile": "anthropic", "name": "…"}
//       a wire to judge; an element of wire may be the index of the equal element of raw
//   {"body": {...}, "converter": "anthropic", "name": "…"}
//       a captured request to judge
//   {"wire": [...], "bodies": [{...}, …], "converter": "anthropic", "name": "…"}
//       a wire whose request must equal one of the captured ones, which shows that the judge converts as the harness does
//
// It prints each violation and how many wires it judged for each profile. It exits with 1 if there was a violation.
// With --json it prints one line per violation and a last line {"judged": {...}} instead. With JUDGE_KEEP=DIR it
// keeps the shortest case of each kind of violation in DIR, as a line for its own stdin.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { isDeepStrictEqual } from "node:util"
import { type Body, type ConverterName, convert, converters } from "./convert.ts"
import { type Case, type Message, type Violation, checkBody, judge, judgesOf, profiles } from "./judge.ts"
import { type Step, convertPi, sentByPi } from "./pi.ts"

interface Line extends Omit<Case, "wire"> {
  name?: string
  wire: (Message | number)[]
  body?: unknown
  bodies?: Body[]
  converter?: string
}

const isJSON = process.argv.includes("--json")
const judged: Record<string, number> = {}
let violations = 0
const kept = new Map<string, number>()

for await (const text of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (text.trim() === "") continue
  const line = JSON.parse(text) as Line
  const by = line.converter ?? line.profile
  // If no converter of the harness fits the profile, the case does not count as judged.
  if (line.converter || judgesOf(line).length > 0) judged[by] = (judged[by] ?? 0) + 1
  const found = line.bodies ? await compare(line, line.bodies) : line.body === undefined ? await judgeWire(line) : judgeBody(line)
  for (const v of found) report(line, v)
}

if (isJSON) console.log(JSON.stringify({ judged }))
else {
  const names = [...profiles, ...Object.keys(judged).filter((name) => !profiles.includes(name as never))].filter((name) => judged[name])
  console.log(`judged: ${names.map((name) => `${judged[name]} ${name}`).join(", ") || "nothing"}; ${violations} violations`)
}
process.exitCode = violations > 0 ? 1 : 0

async function judgeWire(line: Line): Promise<Violation[]> {
  const wire = line.wire.map((m) => (typeof m === "number" ? (line.raw[m] as Message) : m))
  return judge({ ...line, wire })
}

/** Judges a captured request. Its array is unknown, so all signatures are accepted. */
function judgeBody(line: Line): Violation[] {
  const name = line.converter as ConverterName
  if (!(name in converters)) throw new Error(`unknown converter ${JSON.stringify(name)}`)
  const known = { has: () => true, get: () => ({ has: () => true }) } as never
  const evidence = { binds: line.binds ?? false, proofs: known, runs: [], ofCall: new Map<string, string[]>() }
  const found = checkBody(name, line.body, evidence)
  // The rule breakpoint-newest applies to the releases of OpenCode 2. The beta sets its breakpoint after the user's newest
  // prompt instead.
  return found.filter(({ rule }) => line.harness !== "opencode2" || rule !== "breakpoint-newest").map((f) => ({ rule: f.rule, where: `${name}: ${f.where}`, detail: f.detail }))
}

/** Compares the converted wire with captured requests. If no request is equal, it reports the first difference. */
async function compare(line: Line, bodies: Body[]): Promise<Violation[]> {
  const name = line.converter as ConverterName
  const steps = line.wire as unknown as Step[]
  const isPi = line.harness === "pi"
  const ours = isPi ? convertPi(name, steps, steps) : await convert(name, { array: line.wire as Message[] })
  const messages = (body: Body): Body[] => (isPi ? sentByPi(body) : body.messages.filter((m: Body) => m.role !== "system" && m.role !== "developer"))
  const same = (body: Body): number => messages(ours).findIndex((m, i) => !isDeepStrictEqual(m, messages(body)[i]))
  if (bodies.some((body) => messages(body).length === messages(ours).length && same(body) < 0)) return []
  const [nearest] = bodies.sort((a, b) => (same(b) >>> 0) - (same(a) >>> 0)) // >>> turns -1, which means no difference, into the largest number
  const at = nearest ? same(nearest) : 0
  const short = (body: Body): string => JSON.stringify(messages(body)[at])?.slice(0, 400)
  return [{ rule: "as-sent", where: `${name}: message ${at} of ${messages(ours).length}`, detail: `we say ${short(ours)}, the harness said ${nearest ? short(nearest) : "nothing"}` }]
}

function report(line: Line, v: Violation): void {
  violations++
  const by = line.converter ?? line.profile
  keep(by, line, v)
  if (isJSON) console.log(JSON.stringify({ name: line.name, profile: by, messages: line.raw?.length ?? 0, ...v }))
  else console.log(`${line.name ?? "?"} (${by}): ${v.rule} at ${v.where}: ${v.detail}`)
}

function keep(by: string, line: Line, v: Violation): void {
  const dir = process.env.JUDGE_KEEP
  const kind = `${by}-${v.rule}`
  const length = line.raw?.length ?? 0
  if (!dir || length >= (kept.get(kind) ?? Infinity)) return
  kept.set(kind, length)
  writeFileSync(join(dir, `${kind}.jsonl`), `${JSON.stringify(line)}\n`)
}
