import assert from "node:assert/strict"
import { test } from "node:test"
import { clone } from "@magicctx/shim-core"
import { Random } from "../../../shim-core/test/random.ts"
import { vectors } from "../../../shim-core/test/vectors.ts"
import { message } from "../../src/v1/generated/message.ts"

interface Vector {
  about: string
  raw: unknown
  want: unknown
}

for (const [name, { about, raw, want }] of vectors<Vector>("projection/opencode")) {
  test(`projection ${name}: ${about}`, () => {
    assert.deepEqual(message.copy(raw), want)
    assert.ok(message.same(message.snapshot(raw), raw))
  })
}

const part = (random: Random): unknown => ({
  id: random.pick(["p1", "p2"]),
  type: random.pick(["text", "reasoning", "tool", "file", "step-start", "step-finish", "patch", "subtask", "new"]),
  text: random.pick(["a", "b"]),
  ...(random.chance(0.4) && { synthetic: random.chance(0.5) }),
  ...(random.chance(0.3) && { metadata: random.json(2) }),
  ...(random.chance(0.6) && {
    state: {
      status: random.pick(["pending", "running", "completed", "error"]),
      input: random.json(1),
      output: random.pick(["x", "y"]),
      ...(random.chance(0.5) && { time: { start: random.below(3), ...(random.chance(0.3) && { compacted: random.below(2) }) } }),
      ...(random.chance(0.5) && { metadata: { interrupted: random.chance(0.5), output: random.pick(["q", "r"]), exit: random.below(2) } }),
    },
  }),
})

const randomMessage = (random: Random): unknown => ({
  info: {
    id: "m1",
    role: random.pick(["user", "assistant", "system"]),
    cost: random.below(2),
    ...(random.chance(0.3) && { agent: random.pick(["build", "plan"]) }),
    ...(random.chance(0.5) && { summary: random.pick([true, false, { diffs: [random.below(2)] }]) }),
    ...(random.chance(0.3) && { error: { name: random.pick(["E", "F"]), data: random.json(1) } }),
  },
  parts: Array.from({ length: random.below(3) }, () => part(random)),
})

test("comparing agrees with copying", () => {
  let same = 0
  for (let seed = 0; seed < 20_000; seed++) {
    const random = new Random(seed)
    const a = randomMessage(random)
    // `b` is a copy of `a` with at most two changes. Two independent random messages would almost never be equal.
    const b = clone(a) as { info: object; parts: unknown[] }
    if (random.chance(0.5)) Object.assign(b.info, (randomMessage(random) as typeof b).info)
    if (b.parts.length > 0 && random.chance(0.5)) Object.assign(b.parts[0] as object, part(random))
    const want = JSON.stringify(message.copy(a)) === JSON.stringify(message.copy(b))
    if (want) same++
    assert.equal(message.same(message.snapshot(a), b), want, `seed ${seed}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`)
  }
  assert.ok(same > 2_000 && same < 18_000, `${same} of 20000 were the same: the messages prove little`)
})
