import assert from "node:assert/strict"
import { test } from "node:test"
import { clone, compile, patched, PatchError, type PatchOp } from "../src/index.ts"
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
    if (error) assert.throws(() => patched(message, compile(patch)), PatchError)
    else assert.deepEqual(patched(message, compile(patch)), want)
    assert.deepEqual(message, before, "the raw message was touched")
  })
}

test("a patch cannot reach a prototype", () => {
  const message = { a: {} }
  for (const path of ["/__proto__/x", "/__proto__", "/a/__proto__/x", "/constructor/prototype/x"]) {
    assert.throws(() => patched(message, compile([{ op: "add", path, value: 1 }])), PatchError, path)
  }
  assert.equal(({} as Record<string, unknown>).x, undefined)
})

test("a value of a patch is not shared with the wire", () => {
  const patch = compile([{ op: "add", path: "/a", value: { b: 1 } }])
  const first = patched({}, patch) as { a: { b: number } }
  first.a.b = 2
  assert.deepEqual(patched({}, patch), { a: { b: 1 } })
})
