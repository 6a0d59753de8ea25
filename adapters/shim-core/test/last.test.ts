import assert from "node:assert/strict"
import { test } from "node:test"
import { clone, LastArray, MutationApplier, type Patch, type PatchOp, type WireMutation } from "../src/index.ts"
import { message as projection } from "../../opencode-shim/src/v1/generated/message.ts"
import { Random } from "./random.ts"

interface Part {
  id?: string
  type: string
  text?: string
  synthetic?: boolean
  state?: { status: string; output?: string; metadata?: unknown }
}

interface Message {
  info: { id: string; role: string; finish?: string }
  parts: Part[]
}

const key = (message: unknown) => (message as Message).info.id
const lastOf = (messages: unknown[]) => LastArray.of(messages.map((message) => projection.snapshot(message)), key, projection)
const mutation = (edits: Record<string, Patch>): WireMutation => ({ revision: 1, verdict: "steady", start: 0, edits })
const text = (id: string, of: string): Part => ({ id, type: "text", text: of })
/** OpenCode gives a reminder a new part id on every pass. */
const reminder = (of: string): Part => ({ id: `new_${Math.random()}`, type: "text", text: of, synthetic: true })
const user = (id: string, ...parts: Part[]): Message => ({ info: { id, role: "user" }, parts })
const tag = (path: string): PatchOp => ({ op: "prepend", path: `${path}/text`, value: "§1§ " })
const dropped = (path: string): PatchOp => ({ op: "replace", path: `${path}/text`, value: "[dropped §2§]" })

/**
 * Applies `edits` to the array `before`. Then plays a pass with the array `now`, but the host does not answer this
 * pass. Returns the wire that the shim makes by itself.
 */
function reapplied(before: Message[], edits: Record<string, Patch>, now: Message[], condense = false): { texts: string[][]; unfit: number | undefined } {
  const applier = new MutationApplier(key)
  const last = condense ? lastOf(before).condensed() : lastOf(before)
  assert.equal(applier.apply(clone(before), mutation(edits), true), 0)
  const messages = clone(now)
  const unfit = applier.reapply(messages, last)
  return { texts: messages.map(({ parts }) => parts.map((part) => part.text ?? part.state?.output ?? part.type)), unfit }
}

// In plan mode, OpenCode adds a reminder only to the newest user message. When the user sends another message, the
// previous one loses its reminder. A fixed bug: the patch of the lost reminder no longer fit, so the shim sent the
// whole array raw.
test("if a reminder has left a message, the patches of other messages still apply", () => {
  const before = [user("a", text("1", "huge")), user("b", text("2", "plan"), reminder("you are in plan mode"))]
  const edits = { a: [dropped("/parts/0")], b: [tag("/parts/0"), tag("/parts/1")] }
  const now = [user("a", text("1", "huge")), user("b", text("2", "plan")), user("c", text("3", "go"), reminder("you are in plan mode"))]
  assert.deepEqual(reapplied(before, edits, now), { texts: [["[dropped §2§]"], ["§1§ plan"], ["go", "you are in plan mode"]], unfit: 0 })
})

// If the first part is removed, all other parts move up by one. A fixed bug: the shim applied the patch of `/parts/0`
// to the part that had moved to this index.
test("a patch follows its part to another index", () => {
  const before = [user("a", reminder("r"), text("1", "one"), text("2", "two"), text("3", "three"))]
  const edits = { a: [{ op: "replace", path: "/parts/0/text", value: "" }, tag("/parts/1"), dropped("/parts/2"), { op: "remove", path: "/parts/3" }] as PatchOp[] }
  assert.deepEqual(reapplied(before, edits, [user("a", text("1", "one"), text("2", "two"), text("3", "three"))]).texts, [["§1§ one", "[dropped §2§]"]])
  assert.deepEqual(reapplied(before, edits, [user("a", text("4", "new"), text("2", "two"), reminder("r"), text("1", "one"))]).texts, [["new", "[dropped §2§]", "", "§1§ one"]])
})

test("a message whose part has changed stays raw as a whole", () => {
  const before = [user("a", text("1", "one"), text("2", "two")), user("b", text("3", "three"))]
  const edits = { a: [dropped("/parts/0"), tag("/parts/1")], b: [tag("/parts/0")] }
  const now = [user("a", text("1", "another"), text("2", "two")), user("b", text("3", "three"))]
  for (const condense of [false, true]) {
    assert.deepEqual(reapplied(before, edits, now, condense), { texts: [["another", "two"], ["§1§ three"]], unfit: 1 })
  }
  // A tag and a removal do not depend on the content of their parts, so they apply even to parts with other content.
  const more = { a: [tag("/parts/0"), { op: "remove", path: "/parts/1" }] as PatchOp[] }
  assert.deepEqual(reapplied(before, more, [user("a", text("1", "another"), text("2", "second"))]), { texts: [["§1§ another"]], unfit: 0 })
})

test("equal parts are told apart by their order, unless their number has changed", () => {
  const [same, other] = [() => reminder("r"), text("1", "one")]
  const before = [user("a", other, same(), same())]
  const edits = { a: [dropped("/parts/1"), tag("/parts/2")] }
  assert.deepEqual(reapplied(before, edits, [user("a", same(), other, same())]), { texts: [["[dropped §2§]", "one", "§1§ r"]], unfit: 0 })
  assert.deepEqual(reapplied(before, edits, [user("a", other, same())]), { texts: [["one", "r"]], unfit: 1 })
})

test("a step that continues keeps its patch, and an appended part stands at its end", () => {
  const step = (...parts: Part[]): Message => ({ info: { id: "s", role: "assistant" }, parts })
  const tool: Part = { id: "2", type: "tool", state: { status: "completed", output: "out", metadata: { restless: Math.random() } } }
  const before = [step({ type: "step-start" }, text("1", "I look"), tool)]
  const edits = { s: [tag("/parts/1"), { op: "prepend", path: "/parts/2/state/output", value: "§2§ " }, { op: "remove", path: "/parts/0" }, { op: "add", path: "/parts/-", value: { type: "todo" } }] as PatchOp[] }
  const now = step({ type: "step-start" }, text("1", "I look"), { ...tool, state: { ...tool.state!, metadata: {} } }, { type: "step-finish" })
  now.info.finish = "stop"
  assert.deepEqual(reapplied(before, edits, [now]), { texts: [["§1§ I look", "§2§ out", "step-finish", "todo"]], unfit: 0 })
})

test("a patch of a message that is remembered by its digest applies if the message has not changed", () => {
  const long = "x".repeat(5000)
  const before = [user("a", text("1", long)), user("b", text("2", "two"), reminder("r"))]
  const edits = { a: [dropped("/parts/0")], b: [tag("/parts/0")] }
  const now = [user("a", text("1", long)), user("b", text("2", "two"), reminder("r")), user("c", text("3", "three"))]
  assert.deepEqual(reapplied(before, edits, now, true), { texts: [["[dropped §2§]"], ["§1§ two", "r"], ["three"]], unfit: 0 })
  assert.deepEqual(reapplied(before, edits, [user("b", text("2", "two"))], true), { texts: [["two"]], unfit: 1 })
})

// The test picks at random what a patch does to each part: the part stays, gets a tag, is dropped, or is removed. As in
// the host's patches, a patch names a part by its index.
test("a patch has the intended effect on each part, or none on the message", () => {
  let moved = 0
  for (let seed = 0; seed < 3000; seed++) {
    const random = new Random(seed)
    let n = 0
    const fresh = (role: string): Part => {
      n++
      return role === "user" && random.chance(0.3) ? reminder(`reminder ${random.chance(0.5) ? n : 0}`) : random.chance(0.2) ? { type: "step-start" } : text(`p${n}`, `text ${n}`)
    }
    const before = Array.from({ length: 4 }, (_, i): Message => {
      const role = i % 2 ? "assistant" : "user"
      return { info: { id: `m${i}`, role }, parts: Array.from({ length: random.below(5) }, () => fresh(role)) }
    })
    /** The fate of each part. Equal parts have the same fate, because nobody could tell if they changed places. */
    const fates = new Map<string, "stays" | "tag" | "drop" | "goes">()
    const identity = ({ info }: Message, { id, type, text, synthetic }: Part) => `${info.id} ${type === "text" && !synthetic ? id : `${type} ${text}`}`
    const fate = (message: Message, part: Part) => {
      const its = identity(message, part)
      if (!fates.has(its)) fates.set(its, random.pick(part.text === undefined ? ["stays", "goes"] : ["stays", "tag", "drop", "goes"]))
      return fates.get(its)!
    }
    const edits: Record<string, Patch> = {}
    for (const message of before) {
      const { info, parts } = message
      const ops: PatchOp[] = []
      parts.forEach((part, i) => {
        if (fate(message, part) === "tag") ops.push({ op: "prepend", path: `/parts/${i}/text`, value: `<${part.text}> ` })
        if (fate(message, part) === "drop") ops.push({ op: "replace", path: `/parts/${i}/text`, value: `[${part.text}]` })
      })
      for (let i = parts.length - 1; i >= 0; i--) if (fate(message, parts[i]!) === "goes") ops.push({ op: "remove", path: `/parts/${i}` })
      if (ops.length > 0) edits[info.id] = ops
    }
    const now = clone(before)
    const known = new Set(now.flatMap(({ parts }) => parts))
    let changes = 0
    for (const { info, parts } of now) {
      if (random.chance(0.5)) continue
      changes++
      const at = random.below(parts.length + 1)
      const how = random.pick(["grow", "insert", "remove", "swap", "change"])
      if (how === "grow") parts.push(fresh(info.role))
      if (how === "insert") parts.splice(at, 0, fresh("assistant")) // the new part equals no other part: equal parts cannot be distinguished
      if (how === "remove") parts.splice(at, 1)
      if (how === "swap") parts.unshift(...parts.splice(at, 1))
      const part = parts[at]
      if (how === "change" && part?.text) part.text += " changed"
    }
    const wanted = now.map((message) =>
      message.parts.flatMap((part) => {
        const its = known.has(part) ? (fates.get(identity(message, part)) ?? "stays") : "stays"
        if (its === "goes") return []
        return its === "tag" ? [`<${part.text!.replace(" changed", "")}> ${part.text}`] : its === "drop" ? [`[${part.text}]`] : [part.text ?? part.type]
      }),
    )
    const raw = now.map(({ parts }) => parts.map((part) => part.text ?? part.type))
    const { texts, unfit } = reapplied(before, edits, now)
    let left = 0
    texts.forEach((got, i) => {
      const isRaw = JSON.stringify(got) === JSON.stringify(raw[i])
      if (isRaw && edits[now[i]!.info.id]) left++
      if (!isRaw || !edits[now[i]!.info.id]) assert.deepEqual(got, edits[now[i]!.info.id] ? wanted[i] : raw[i], `seed ${seed}, message ${i}: ${JSON.stringify([before[i], now[i], edits])}`)
      const [a, b] = [before[i]!, now[i]!]
      if (JSON.stringify(a.parts) === JSON.stringify(b.parts.slice(0, a.parts.length)) && a.parts.length === b.parts.length) {
        if (edits[a.info.id]) assert.deepEqual(got, wanted[i], `seed ${seed}: message ${i} has not changed`)
      } else if (!isRaw) moved++
    })
    assert.ok((unfit ?? left) <= left, `seed ${seed}: ${unfit} are counted as raw, ${left} are`)
    assert.ok(unfit !== undefined || changes > 0 || Object.keys(edits).length === 0, `seed ${seed}`)
  }
  assert.ok(moved > 1000, `only ${moved} patches had to follow a part: the messages prove little`)
})
