import assert from "node:assert/strict"
import { test } from "node:test"
import { clone, LastArray, MutationApplier, type WireMutation } from "../src/index.ts"
import { sample } from "./generated/sample.ts"
import { Random } from "./random.ts"
import { vectors } from "./vectors.ts"

interface Vector {
  about: string
  passes: Array<{
    about?: string
    resync?: boolean
    messages: unknown[]
    mutation: WireMutation
    want?: unknown[]
    /** The number of messages whose patch does not fit. */
    unfit?: number
    error?: boolean
  }>
}

const key = (message: unknown) => (message as { id?: string }).id

for (const [name, { about, passes }] of vectors<Vector>("mutation")) {
  test(`mutation ${name}: ${about}`, () => {
    const applier = new MutationApplier(key)
    passes.forEach(({ messages, mutation, resync, want, unfit, error }, i) => {
      const raw = clone(messages)
      const elements = [...raw]
      if (error) {
        assert.throws(() => applier.apply(raw, mutation, resync ?? false), `pass ${i + 1}`)
        assert.ok(raw.length === elements.length && raw.every((m, j) => m === elements[j]), `pass ${i + 1} touched the array`)
        assert.deepEqual(raw, messages, `pass ${i + 1} touched a message`)
      } else {
        assert.equal(applier.apply(raw, mutation, resync ?? false), unfit ?? 0, `pass ${i + 1}`)
        assert.deepEqual(raw, want, `pass ${i + 1}`)
      }
    })
  })
}

const pass = (start: number, more: Partial<WireMutation> = {}): WireMutation => ({ revision: 1, verdict: "steady", start, edits: {}, ...more })
const ids = (messages: unknown[]) => messages.map(key)
const named = (...names: string[]): Array<{ id: string; x?: number }> => names.map((id) => ({ id }))
const lastOf = (messages: unknown[]) => LastArray.of(messages.map((message) => sample.snapshot(message)), key, sample)

test("the last good mutation fits a later array", () => {
  const applier = new MutationApplier(key)
  applier.apply(named("a", "b", "c"), pass(2, { head: [{ id: "h" }], edits: { c: [{ op: "add", path: "/x", value: 1 }] } }), true)
  const later = named("a", "b", "c", "d")
  assert.equal(applier.reapply(later, lastOf(named("a", "b", "c"))), 0)
  assert.deepEqual(later, [{ id: "h" }, { id: "c", x: 1 }, { id: "d" }])
})

test("the last good mutation cuts after the same message, at its present place", () => {
  const applier = new MutationApplier(key)
  applier.apply(named("a", "b", "c"), pass(2), true)
  const shorter = named("b", "c", "d")
  assert.equal(applier.reapply(shorter, lastOf(named("a", "b", "c"))), 0)
  assert.deepEqual(ids(shorter), ["c", "d"])
})

test("the last good mutation keeps its pinned messages, as long as they are there", () => {
  const applier = new MutationApplier(key)
  const edits = { a: [{ op: "add" as const, path: "/x", value: 1 }] }
  applier.apply(named("a", "b", "c", "d"), pass(3, { head: [{ id: "h" }], pinned: ["a", "c"], edits }), true)
  const later = named("a", "b", "c", "d", "e")
  assert.equal(applier.reapply(later, lastOf(named("a", "b", "c", "d"))), 0)
  assert.deepEqual(later, [{ id: "h" }, { id: "a", x: 1 }, { id: "c" }, { id: "d" }, { id: "e" }])
  const without = named("b", "c", "d")
  assert.equal(applier.reapply(without, lastOf(named("a", "b", "c", "d"))), 0)
  assert.deepEqual(ids(without), ["h", "c", "d"])
})

test("the last good mutation is not forced on another array", () => {
  const applier = new MutationApplier(key)
  applier.apply(named("a", "b", "c"), pass(2, { head: [{ id: "h" }] }), true)
  const other = named("x", "y")
  assert.equal(applier.reapply(other, lastOf(named("a", "b", "c"))), undefined)
  assert.deepEqual(ids(other), ["x", "y"])
})

test("the last good mutation cuts after the newest dropped message that is left", () => {
  const applier = new MutationApplier(key)
  const edits = { d: [{ op: "add" as const, path: "/x", value: 1 }] }
  applier.apply(named("a", "b", "c", "d"), pass(3, { head: [{ id: "h" }], edits }), true)
  const last = lastOf(named("a", "b", "c", "d"))
  const without = named("a", "b", "d", "e")
  assert.equal(applier.reapply(without, last), 0)
  assert.deepEqual(without, [{ id: "h" }, { id: "d", x: 1 }, { id: "e" }])
  // After a compaction by the harness, all messages that the head replaces are gone, so the head is left out, too.
  const compacted = named("s", "d", "e")
  assert.equal(applier.reapply(compacted, last), 0)
  assert.deepEqual(compacted, [{ id: "s" }, { id: "d", x: 1 }, { id: "e" }])
})

test("an object that another plugin has frozen keeps its message raw, and no other", () => {
  const applier = new MutationApplier(key)
  const messages = [{ id: "a", text: "a" }, Object.freeze({ id: "b", text: "b" }), { id: "c", text: "c" }]
  const tag = (id: string) => [id, [{ op: "prepend" as const, path: "/text", value: "§1§ " }]]
  assert.equal(applier.apply(messages, pass(0, { edits: Object.fromEntries(["a", "b", "c"].map(tag)) as WireMutation["edits"] }), true), 1)
  assert.deepEqual(messages.map(({ text }) => text), ["§1§ a", "b", "§1§ c"])
})

test("without a good mutation there is nothing to apply again", () => {
  const messages = named("a")
  assert.equal(new MutationApplier(key).reapply(messages, lastOf([])), undefined)
  assert.deepEqual(ids(messages), ["a"])
})

test("a head shares no object with the wire, which other plugins change", () => {
  const applier = new MutationApplier(key)
  const first = named("a")
  applier.apply(first, pass(0, { head: [{ id: "h", parts: [{ text: "history" }] }] }), true)
  ;(first[0] as unknown as { parts: unknown[] }).parts.push("theirs")
  const second = named("a")
  applier.apply(second, pass(0), false)
  assert.deepEqual(second[0], { id: "h", parts: [{ text: "history" }] })
})

test("with a draft, the wire is the same as without", () => {
  const letters = [..."abcdefghij"]
  for (let seed = 0; seed < 300; seed++) {
    const random = new Random(seed)
    const [drafting, plain] = [new MutationApplier(key), new MutationApplier(key)]
    let before: string[] = []
    let last: unknown[] = []
    for (let n = 0; n < 10; n++) {
      const ids = random.chance(0.7) ? letters.slice(0, before.length + 1) : letters.filter(() => random.chance(0.6))
      const keep = ids.findIndex((id, i) => id !== before[i])
      const resync = n === 0 || random.chance(0.1)
      const some = () => letters.filter(() => random.chance(0.15))
      const mutation = pass(random.chance(0.8) ? 0 : random.below(ids.length + 1), {
        edits: Object.fromEntries(some().map((id) => [id, random.chance(0.5) ? [{ op: "prepend", path: "/text", value: "§1§ " }] : [{ op: "add", path: "/x", value: random.json(1) }]])),
        cleared: some(),
        ...(random.chance(0.1) && { head: [{ id: `head ${n}` }] }),
      })
      const messages = (): unknown[] => ids.map((id) => ({ id, text: id }))
      const [a, b] = [messages(), messages()]
      const draft = drafting.draft(a, keep < 0 ? ids.length : keep)
      if (random.chance(0.1)) {
        assert.equal(drafting.reapply(a, lastOf(last)), plain.reapply(b, lastOf(last)), `seed ${seed}, pass ${n + 1}`)
      } else {
        const id = random.chance(0.1) ? random.pick(ids.slice(mutation.start)) : undefined
        if (id) mutation.edits[id] = [{ op: "remove", path: "/none" }]
        last = messages()
        assert.equal(drafting.apply(a, mutation, resync, draft), plain.apply(b, mutation, resync), `seed ${seed}, pass ${n + 1}`)
        before = ids
      }
      assert.deepEqual(a, b, `seed ${seed}, pass ${n + 1}`)
    }
  }
})

test("the next answer builds on an answer that was only learned", () => {
  const applier = new MutationApplier(key)
  applier.apply(named("a"), pass(0, { edits: { a: [{ op: "add", path: "/x", value: 1 }] } }), true)
  applier.learn(named("a", "b"), pass(0, { edits: { b: [{ op: "add", path: "/x", value: 2 }] }, cleared: ["a"] }))
  const third = named("a", "b", "c")
  applier.apply(third, pass(0), false)
  assert.deepEqual(third, [{ id: "a" }, { id: "b", x: 2 }, { id: "c" }])
})
