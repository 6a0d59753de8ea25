import assert from "node:assert/strict"
import { test } from "node:test"
import { clone, compile, PatchError, plan, write, type PatchOp } from "../src/index.ts"
import { Random } from "./random.ts"
import { vectors } from "./vectors.ts"

interface Vector {
  about: string
  message: unknown
  patch: PatchOp[]
  want?: unknown
  error?: boolean
}

for (const [name, { about, message, patch, want, error }] of vectors<Vector>("patch")) {
  test(`patch ${name}: ${about}`, () => {
    const before = clone(message)
    if (error) {
      assert.throws(() => plan(message, compile(patch)), PatchError)
      assert.deepEqual(message, before, "a patch that fails touched the message")
    } else {
      const writes = plan(message, compile(patch))
      assert.deepEqual(message, before, "the message was touched before all is planned")
      write([writes])
      assert.deepEqual(message, want)
    }
  })
}

/** A plan that cannot be written, because another plugin has frozen the message. */
const unwritable = plan(Object.freeze({ text: "b" }), compile([{ op: "prepend", path: "/text", value: "1 " }]))

test("operations that are planned together have the same effect as one after the other, or none", () => {
  let patched = 0
  for (let seed = 0; seed < 3500; seed++) {
    const random = new Random(seed)
    const message = { a: random.json(4), b: [random.json(2), random.json(2)] }
    const step = () => random.pick(["a", "b", "c", "0", "1", "-"])
    const patch = Array.from({ length: 1 + random.below(4) }, (): PatchOp => {
      const path = "/" + [random.pick(["a", "b"]), step(), step()].slice(0, 1 + random.below(3)).join("/")
      const op = random.pick(["add", "replace", "remove", "prepend", "append"] as const)
      return op === "remove" ? { op, path } : { op, path, value: op === "prepend" || op === "append" ? "§1§ " : random.json(2) }
    })
    const oneByOne = clone(message)
    try {
      for (const op of patch) write([plan(oneByOne, compile([op]))])
    } catch {
      assert.throws(() => plan(message, compile(patch)), PatchError, `seed ${seed}`)
      continue
    }
    const before = clone(message)
    const writes = plan(message, compile(patch))
    assert.deepEqual(write([[...writes, ...unwritable]]), [0])
    assert.deepEqual(message, before, `seed ${seed}: ${JSON.stringify(patch)}, taken back`)
    assert.deepEqual(write([unwritable, writes]), [0], "one plan that fails takes no other with it")
    assert.deepEqual(message, oneByOne, `seed ${seed}: ${JSON.stringify(patch)}`)
    patched++
  }
  assert.ok(patched > 300, `${patched} patches fitted`)
})

test("a patch cannot reach a prototype", () => {
  const message = { a: {} }
  for (const path of ["/__proto__/x", "/__proto__", "/a/__proto__/x", "/constructor/prototype/x"]) {
    assert.throws(() => plan(message, compile([{ op: "add", path, value: 1 }])), PatchError, path)
  }
  assert.equal(({} as Record<string, unknown>).x, undefined)
})

test("a value of a patch is not shared with the wire", () => {
  const patch = compile([{ op: "add", path: "/a", value: { b: 1 } }])
  const [first, second] = [{}, {}] as Array<{ a?: { b: number } }>
  write([plan(first, patch)])
  first!.a!.b = 2
  write([plan(second, patch)])
  assert.deepEqual(second, { a: { b: 1 } })
})
