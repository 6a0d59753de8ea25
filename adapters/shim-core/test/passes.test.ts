import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { clone, isSame, keep, Method, Passes, silent, type InitializeResult } from "../src/index.ts"
import { fakeHost, initialized, opening, type Script } from "./fakehost.ts"

interface Message {
  id: string
  text: string
}

const format = { projection: { copy: clone, keep, same: isSame }, key: (m: unknown) => (m as Message).id }
const of = { session: "s", directory: "/p" }
const message = (id: string): Message => ({ id, text: `text of ${id}` })
const texts = (messages: Message[]) => messages.map((m) => m.text)
const tagged = (ids: string) => [...ids].map((id) => `§${id}§ text of ${id}`)

async function start(t: TestContext, script: Script = {}) {
  const { host, fake } = fakeHost(t, script)
  await host.open(opening("/p"), {}).opened(20_000)
  const passes = new Passes(host, format, silent)
  const run = async (ids: string, limits: Partial<InitializeResult> = {}) => {
    const messages = [...ids].map(message)
    const outcome = await passes.run(messages, of, { ...initialized, ...limits })
    return { outcome, texts: texts(messages) }
  }
  /** What the transforms said: base, keep, and the number of messages that came along. */
  const deltas = () => fake.received("session/transform").map(({ params, attachment }) => [params!.base, params!.keep, (attachment as unknown[]).length])
  return { fake, host, passes, run, deltas }
}

test("a pass sends what is new and applies what comes back", async (t) => {
  const { run, deltas } = await start(t)
  for (const ids of ["ab", "abc", "abc"]) assert.deepEqual(await run(ids), { outcome: "applied", texts: tagged(ids) })
  assert.deepEqual(deltas(), [
    [0, 0, 2],
    [1001, 2, 1],
    [1002, 3, 0],
  ])
})

test("an array that changed inside becomes the wire that it would have become in any case", async (t) => {
  const { run, deltas } = await start(t)
  for (const ids of ["abcd", "abcde", "axcdef", "axcdefg", "axcdefgh"]) assert.deepEqual(await run(ids), { outcome: "applied", texts: tagged(ids) })
  assert.deepEqual(deltas(), [
    [0, 0, 4],
    [1001, 4, 1],
    [1002, 5, 1], // as if only f were new
    [1003, 1, 5],
    [1004, 6, 1],
    [1005, 7, 1],
  ])
})

test("what the answer to a wrong guess drops stays dropped", async (t) => {
  const { run } = await start(t, { drops: { 2: "a" } })
  await run("abc")
  assert.deepEqual(await run("axcd"), { outcome: "applied", texts: ["", ...tagged("xcd")] })
})

test("a host that forgets during a guess gets everything", async (t) => {
  const { run, deltas } = await start(t, { passes: { 2: "forget" } })
  for (const ids of ["abc", "axcd", "axcde"]) assert.deepEqual(await run(ids), { outcome: "applied", texts: tagged(ids) })
  assert.deepEqual(deltas(), [
    [0, 0, 3],
    [1001, 3, 1],
    [0, 0, 4],
    [1001, 4, 1],
  ])
})

test("a host that does not hold the base gets everything in the same pass", async (t) => {
  const { run, deltas } = await start(t, { passes: { 2: "forget" } })
  for (const ids of ["ab", "abc"]) assert.deepEqual(await run(ids), { outcome: "applied", texts: tagged(ids) })
  assert.deepEqual(deltas(), [
    [0, 0, 2],
    [1001, 2, 1],
    [0, 0, 3],
  ])
})

test("a pass during which the host dies is completed by the next one", async (t) => {
  const { run, deltas } = await start(t, { passes: { 2: "die" } })
  for (const ids of ["ab", "abc", "abcd"]) assert.deepEqual(await run(ids), { outcome: "applied", texts: tagged(ids) })
  assert.deepEqual(deltas(), [
    [0, 0, 2],
    [1001, 2, 1], // dies
    [1001, 2, 1], // the next host does not hold it
    [0, 0, 3],
    [2001, 3, 1],
  ])
})

test("after a restart between two passes everything is sent", async (t) => {
  const { host, run, deltas } = await start(t, { dieOn: { "session/system": 1 } })
  await run("ab")
  await host.call(Method.System, { session: "s", directory: "/p", model: { provider: "", id: "" }, system: [] }, { timeoutMS: 20_000 })
  assert.deepEqual(await run("abc"), { outcome: "applied", texts: tagged("abc") })
  assert.deepEqual(deltas(), [
    [0, 0, 2],
    [0, 0, 3],
  ])
})

test("a mutation that does not fit falls back to the last good one, and the next pass resyncs", async (t) => {
  const { run, deltas } = await start(t, { passes: { 2: "bad" } })
  await run("ab")
  assert.deepEqual(await run("abc"), { outcome: "reapplied", texts: [...tagged("ab"), "text of c"] })
  assert.deepEqual(await run("abc"), { outcome: "applied", texts: tagged("abc") })
  assert.deepEqual(deltas(), [
    [0, 0, 2],
    [1001, 2, 1],
    [0, 0, 3],
  ])
})

test("a pass that fails falls back to the last good mutation", async (t) => {
  const { run } = await start(t, { passes: { 1: "error", 3: "error" } })
  assert.deepEqual(await run("a"), { outcome: "unchanged", texts: ["text of a"] })
  assert.deepEqual(await run("a"), { outcome: "applied", texts: tagged("a") })
  assert.deepEqual(await run("ab"), { outcome: "reapplied", texts: [...tagged("a"), "text of b"] })
  assert.deepEqual(await run("ab"), { outcome: "applied", texts: tagged("ab") })
})

test("a pass that takes too long falls back, and its late base is not built upon", async (t) => {
  const { run, deltas } = await start(t, { passes: { 2: "silent" } })
  await run("a")
  assert.deepEqual(await run("ab", { transformTimeoutMs: 100 }), { outcome: "reapplied", texts: [...tagged("a"), "text of b"] })
  assert.deepEqual(await run("ab"), { outcome: "applied", texts: tagged("ab") })
  assert.deepEqual(deltas(), [
    [0, 0, 1],
    [1001, 1, 1], // processed, but the answer never came
    [1001, 1, 1],
    [0, 0, 2],
  ])
})

test("a whole array has the deadline of a resync", async (t) => {
  const { run } = await start(t, { passes: { 1: "silent" } })
  assert.deepEqual(await run("a", { resyncTimeoutMs: 100, transformTimeoutMs: 600_000 }), { outcome: "unchanged", texts: ["text of a"] })
})

test("passes of a session run one after another", async (t) => {
  const { run, deltas } = await start(t)
  const outcomes = await Promise.all([run("a"), run("ab"), run("abc")])
  assert.deepEqual(outcomes.map((o) => o.texts), [tagged("a"), tagged("ab"), tagged("abc")])
  assert.deepEqual(deltas().map(([, keep]) => keep), [0, 1, 2])
})

test("many sessions are remembered by their mutations, few by their arrays", async (t) => {
  const { fake, passes } = await start(t)
  const limits = initialized
  for (let n = 0; n < 10; n++) await passes.run([message("a")], { ...of, session: String(n) }, limits)
  await passes.run([message("a")], { ...of, session: "9" }, limits)
  await passes.run([message("a")], { ...of, session: "0" }, limits)
  const bases = fake.received("session/transform").slice(-2).map(({ params }) => params!.base)
  assert.equal(bases[0], 1001)
  assert.equal(bases[1], 0)
})
