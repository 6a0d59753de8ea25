import assert from "node:assert/strict"
import { test } from "node:test"
import { clone, DeltaEncoder, isSame, snapshot, type Delta } from "../src/index.ts"
import { sample as projection } from "./generated/sample.ts"
import { Random } from "./random.ts"

test("a snapshot is the same as another exactly when both are the same JSON text", () => {
  let same = 0
  for (let seed = 0; seed < 5000; seed++) {
    const random = new Random(seed)
    const a = random.json(3)
    const b = random.chance(0.3) ? clone(a) : random.json(3)
    const want = JSON.stringify(a) === JSON.stringify(b)
    if (want) same++
    assert.equal(isSame(snapshot(a), b), want, `seed ${seed}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`)
  }
  assert.ok(same > 1000 && same < 4000, `${same} of 5000 were the same`)
})

test("a member that is undefined is absent", () => {
  assert.ok(isSame(snapshot({ a: 1, b: undefined }), { a: 1 }))
  assert.ok(isSame(snapshot({ a: 1 }), { a: 1, b: undefined }))
  assert.ok(!isSame(snapshot({ a: undefined }), { b: 1 }))
  assert.deepEqual(Object.keys(clone({ a: 1, b: undefined })), ["a"])
})

test("members in another order are another text", () => {
  assert.ok(!isSame(snapshot({ a: 1, b: 2 }), { b: 2, a: 1 }))
})

test("a copy shares nothing with its original", () => {
  const raw = { id: "m", parts: [{ a: { deep: ["x"] } }] }
  const copy = projection.copy(raw)
  const was = projection.snapshot(raw)
  raw.parts[0]!.a.deep.push("y")
  assert.deepEqual(copy, { id: "m", parts: [{ a: { deep: ["x"] } }] })
  assert.equal(projection.same(was, raw), false)
})

test("members that a projection leaves out are neither compared nor sent", () => {
  const raw = { id: "m", cost: 1, summary: { diffs: ["large"] }, parts: [{ a: 1, z: 2, b: { c: 1, d: 2 } }] }
  const was = projection.snapshot(raw)
  assert.deepEqual(projection.copy(raw), { id: "m", parts: [{ a: 1, b: { c: 1 } }] })
  assert.ok(projection.same(was, { ...raw, cost: 2, summary: { diffs: [] } }))
  assert.ok(!projection.same(was, { ...raw, summary: true }))
})

test("a delta carries the messages from the first difference on", () => {
  const encoder = new DeltaEncoder(projection)
  const pass = (revision: number, ...messages: unknown[]) => {
    const delta = encoder.encode(messages)
    encoder.confirm(delta, revision)
    return [delta.base, delta.keep, delta.attachment]
  }
  const a = () => ({ id: "a", text: "1" })
  const b = () => ({ id: "b", text: "2" })
  assert.deepEqual(pass(7, a()), [0, 0, '[{"id":"a","text":"1"}]'])
  assert.deepEqual(pass(8, a(), b()), [7, 1, '[{"id":"b","text":"2"}]'])
  assert.deepEqual(pass(9, a(), b()), [8, 2, "[]"])
  assert.deepEqual(pass(10, a(), { ...b(), text: "changed" }), [9, 1, '[{"id":"b","text":"changed"}]'])
  assert.deepEqual(pass(11, a()), [10, 1, "[]"])
  assert.deepEqual(pass(12, b()), [11, 0, '[{"id":"b","text":"2"}]'])
  encoder.reset()
  assert.deepEqual(pass(13, b()), [0, 0, '[{"id":"b","text":"2"}]'])
})

test("snapshots that were made early are those of the sent array", () => {
  const encoder = new DeltaEncoder(projection)
  const raw = [{ id: "a", text: "1" }, { id: "b", text: "2" }]
  const delta = encoder.encode(raw)
  raw[0]!.text = "§1§ 1" // the harness's array has become the wire
  encoder.prepare(delta)
  encoder.confirm(delta, 1)
  const { base, keep, attachment } = encoder.encode([{ id: "a", text: "1" }, { id: "b", text: "2" }, { id: "c" }])
  assert.deepEqual([base, keep, attachment], [1, 2, '[{"id":"c"}]'])
})

test("an array that was not confirmed does not become a base", () => {
  const encoder = new DeltaEncoder(projection)
  encoder.confirm(encoder.encode([{ id: "a" }]), 1)
  encoder.encode([{ id: "a" }, { id: "b" }])
  const { base, keep, attachment } = encoder.encode([{ id: "a" }, { id: "b" }, { id: "c" }])
  assert.deepEqual([base, keep, attachment], [1, 1, '[{"id":"b"},{"id":"c"}]'])
})

test("deltas rebuild the projected array, whatever happens to it", () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = new Random(seed)
    const encoder = new DeltaEncoder(projection)
    let raw: unknown[] = []
    let held: unknown[] = []
    for (let revision = 1; revision < 20; revision++) {
      raw = clone(change(random, raw)) // the harness builds its array anew
      const before = held
      const delta = encoder.encode(raw)
      held = [...held.slice(0, delta.keep), ...(JSON.parse(delta.attachment) as unknown[])]
      const want = raw.map((m) => projection.copy(m))
      assert.equal(delta.keep, commonPrefix(before, want), `seed ${seed}, revision ${revision}`)
      assert.deepEqual(held, want, `seed ${seed}, revision ${revision}`)
      encoder.confirm(delta, revision)
    }
  }
})

test("a guess is right if it equals the result of a full comparison; otherwise a second delta leads to that result", () => {
  let [right, wrong] = [0, 0]
  for (let seed = 0; seed < 300; seed++) {
    const random = new Random(seed)
    const encoder = new DeltaEncoder(projection)
    let raw: unknown[] = []
    let held: unknown[] = []
    for (let revision = 2; revision < 40; revision += 2) {
      raw = clone(change(random, raw))
      const want = raw.map((m) => projection.copy(m))
      const after = ({ keep, attachment }: Delta) => [...held.slice(0, keep), ...(JSON.parse(attachment) as unknown[])]
      let delta = encoder.guess(raw)
      const isRight = encoder.isRight(delta, raw)
      assert.equal(isRight, JSON.stringify(after(delta)) === JSON.stringify(want), `seed ${seed}, revision ${revision}`)
      if (delta.isGuess) isRight ? right++ : wrong++
      if (!isRight) {
        held = after(delta)
        encoder.confirm(delta, revision - 1)
        delta = encoder.encode(raw)
      }
      assert.equal(delta.keep, commonPrefix(held, want), `seed ${seed}, revision ${revision}`)
      held = after(delta)
      assert.deepEqual(held, want, `seed ${seed}, revision ${revision}`)
      encoder.confirm(delta, revision)
    }
  }
  assert.ok(right > 100 && wrong > 100, `${right} guesses were right, ${wrong} wrong`)
})

test("after a change inside the array, the next array is compared before it is sent", () => {
  const encoder = new DeltaEncoder(projection)
  const pass = (texts: string) => {
    const raw = [...texts].map((text, id) => ({ id, text }))
    let delta = encoder.guess(raw)
    const { isGuess } = delta
    if (!encoder.isRight(delta, raw)) delta = encoder.encode(raw)
    encoder.confirm(delta, 1)
    return isGuess
  }
  assert.deepEqual(["ab", "abc", "xbcd", "ybcde", "ybcdef", "ybcdefg"].map(pass), [true, true, true, false, false, true])
})

function commonPrefix(a: unknown[], b: unknown[]): number {
  let n = 0
  while (n < a.length && n < b.length && JSON.stringify(a[n]) === JSON.stringify(b[n])) n++
  return n
}

function change(random: Random, raw: unknown[]): unknown[] {
  const next = [...raw]
  const message = () => ({ id: String(random.below(1e6)), text: random.json(1), junk: random.json(2), summary: random.pick([true, {}, undefined]), parts: random.json(3) })
  if (next.length > 0 && random.chance(0.3)) next[random.below(next.length)] = message()
  if (next.length > 0 && random.chance(0.1)) next.splice(random.below(next.length), 1)
  if (random.chance(0.8)) next.push(message())
  return next
}
