import assert from "node:assert/strict"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test, type TestContext } from "node:test"
import { Registrations } from "../src/index.ts"
import { initialized } from "./fakehost.ts"

function registrations(t: TestContext) {
  const state = mkdtempSync(join(tmpdir(), "state-"))
  t.after(() => rmSync(state, { recursive: true, force: true }))
  const open = (name: string) => new Registrations(name, { XDG_STATE_HOME: state })
  const files = () => readdirSync(state, { recursive: true }).map(String).filter((name) => name.endsWith(".json")).map((name) => join(state, name))
  return { open, files }
}

const tool = { name: "t", description: "d", parameters: {} }

test("the last answer for a directory is recalled, without its warnings", (t) => {
  const { open } = registrations(t)
  open("shim-1").remember("/a", { ...initialized, tools: [tool], warnings: ["told"] })
  open("shim-1").remember("/b", initialized)
  assert.deepEqual(open("shim-1").recall("/a"), { ...initialized, tools: [tool] })
  assert.deepEqual(open("shim-1").recall("/b"), initialized)
})

test("a directory that was never open gets the newest answer of another one, and another version gets none", (t) => {
  const { open } = registrations(t)
  open("shim-1").remember("/a", initialized)
  assert.deepEqual(open("shim-1").recall("/new"), initialized)
  assert.equal(open("shim-2").recall("/a"), undefined)
})

test("that magicctx is off in a directory is recalled there, and nowhere else", (t) => {
  const { open } = registrations(t)
  const off = { ...initialized, enabled: false, tools: [] }
  open("shim-1").remember("/off", off)
  assert.equal(open("shim-1").recall("/new"), undefined)
  open("shim-1").remember("/a", { ...initialized, tools: [tool] })
  assert.deepEqual(open("shim-1").recall("/off"), off)
})

test("an answer that is remembered again is not compared with its file", (t) => {
  const { open, files } = registrations(t)
  const stored = open("shim-1")
  stored.remember("/a", initialized)
  for (const file of files()) rmSync(file)
  stored.remember("/a", initialized)
  assert.deepEqual(files(), [])
  stored.remember("/a", { ...initialized })
  assert.equal(files().length, 1)
})

test("a broken file counts as missing, and is replaced", (t) => {
  const { open, files } = registrations(t)
  open("shim-1").remember("/a", initialized)
  const [file] = files()
  writeFileSync(file!, readFileSync(file!, "utf8").slice(0, 20))
  assert.equal(open("shim-1").recall("/a"), undefined)
  open("shim-1").remember("/a", initialized)
  assert.deepEqual(open("shim-1").recall("/a"), initialized)
})

test("if nothing can be stored, nothing fails", () => {
  const nowhere = new Registrations("shim-1", { XDG_STATE_HOME: "/dev/null" })
  nowhere.remember("/a", initialized)
  assert.equal(nowhere.recall("/a"), undefined)
})
