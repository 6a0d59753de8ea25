import assert from "node:assert/strict"
import { test } from "node:test"
import { clone } from "@magicctx/shim-core"
import { Random } from "../../shim-core/test/random.ts"
import { vectors } from "../../shim-core/test/vectors.ts"
import { step } from "../src/generated/step.ts"

interface Vector {
  about: string
  raw: unknown
  want: unknown
}

for (const [name, { about, raw, want }] of vectors<Vector>("projection/pi")) {
  test(`projection ${name}: ${about}`, () => {
    assert.deepEqual(step.copy(raw), want)
    assert.ok(step.same(step.snapshot(raw), raw))
  })
}

const block = (random: Random): unknown => ({
  type: random.pick(["text", "image", "thinking", "toolCall", "depth"]),
  text: random.pick(["a", "b"]),
  ...(random.chance(0.4) && { thinking: "t", thinkingSignature: random.pick(["s", "r"]), redacted: random.chance(0.5) }),
  ...(random.chance(0.4) && { id: "c", name: "read", arguments: random.json(2) }),
  ...(random.chance(0.2) && { index: random.below(2) }),
})

const blocks = (random: Random) => (random.chance(0.2) ? random.pick(["x", "y"]) : Array.from({ length: random.below(3) }, () => block(random)))

const randomMessage = (random: Random): object => ({
  role: random.pick(["user", "assistant", "toolResult", "custom", "bashExecution", "compactionSummary", "branchSummary", "hologram"]),
  content: blocks(random),
  timestamp: random.below(2),
  ...(random.chance(0.4) && { details: random.json(1), summary: random.pick(["s", "r"]), output: random.pick(["o", "p"]) }),
  ...(random.chance(0.4) && { usage: { input: random.below(2), cost: random.json(1) }, stopReason: random.pick(["stop", "error"]) }),
})

const randomStep = (random: Random): unknown => ({
  id: random.pick(["k", "l"]),
  message: randomMessage(random),
  ...(random.chance(0.5) && { results: Array.from({ length: random.below(3) }, () => ({ ...randomMessage(random), role: "toolResult", toolCallId: "c" })) }),
})

test("comparing agrees with copying", () => {
  let same = 0
  for (let seed = 0; seed < 20_000; seed++) {
    const random = new Random(seed)
    const a = randomStep(random)
    // Two independent random steps are almost never equal, but the test also needs equal ones. So b is a copy of a with
    // at most three changes.
    const b = clone(a) as { message: object; results?: object[] }
    if (random.chance(0.3)) Object.assign(b.message, randomMessage(random))
    if (b.results?.length && random.chance(0.4)) Object.assign(b.results[0]!, { content: blocks(random) })
    if (random.chance(0.2)) Object.assign(b.message, { details: random.json(1) })
    const want = JSON.stringify(step.copy(a)) === JSON.stringify(step.copy(b))
    if (want) same++
    assert.equal(step.same(step.snapshot(a), b), want, `seed ${seed}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`)
  }
  assert.ok(same > 2_000 && same < 18_000, `${same} of 20000 were the same: the steps prove little`)
})
