import assert from "node:assert/strict"
import { test } from "node:test"
import { step } from "../../src/v2/generated/step.ts"
import { Random } from "../../../shim-core/test/random.ts"

const one = {
  id: "a1",
  info: { type: "assistant", tokens: { input: 1 } },
  message: { id: "a1", role: "assistant", content: [{ type: "text", text: "hi" }, { type: "tool-call", id: "c", name: "read", input: { a: 1 } }], native: { big: 1 } },
  results: [{ role: "tool", content: [{ type: "tool-result", id: "c", name: "read", result: { type: "content", value: [{ type: "text", text: "out" }, { type: "file", mime: "image/png", uri: "data:" }] } }] }],
}

test("the content of a file is left out, and so are members that no host reads", () => {
  const copy = step.copy(one) as typeof one
  assert.deepEqual(copy.results[0]!.content[0]!.result.value, [{ type: "text", text: "out" }, { type: "file", mime: "image/png" }])
  assert.deepEqual(copy.message, { id: "a1", role: "assistant", content: one.message.content })
  const image = { id: "u1", message: { role: "user", content: [{ type: "media", media: { mediaType: "image/png", source: { type: "base64", data: "AA" } } }] } }
  assert.deepEqual((step.copy(image) as typeof image).message.content, [{ type: "media", media: { mediaType: "image/png" } }])
})

test("parts and roles of tomorrow are kept whole", () => {
  const odd = { id: "x", message: { role: "assistant", content: [{ type: "hologram", depth: [1] }] } }
  assert.deepEqual(step.copy(odd), odd)
  assert.deepEqual(step.copy("text"), "text")
})

test("comparing agrees with copying", () => {
  const random = new Random(7)
  const change = (value: unknown): unknown => {
    if (random.chance(0.05)) return random.pick([undefined, null, 1, "x", [], {}])
    if (Array.isArray(value)) return value.map(change)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]))
  }
  for (let i = 0; i < 500; i++) {
    const a = change(one)
    const b = random.chance(0.5) ? change(a) : change(one)
    assert.equal(step.same(step.snapshot(a), b), JSON.stringify(step.copy(a)) === JSON.stringify(step.copy(b)))
  }
})
