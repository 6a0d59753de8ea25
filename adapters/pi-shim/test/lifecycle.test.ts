import assert from "node:assert/strict"
import { test } from "node:test"
import { leaveHome } from "../src/home.ts"
import { FakePi, fake, load, textOf, user } from "./fake-pi.ts"

const starts = () => fake.story().filter((what) => what === "start").length
const home = () => (globalThis as unknown as Record<symbol, { version: string } | undefined>)[Symbol.for("magicctx.pi")]

test("all sessions of a process share one host, and a session that comes back sends only what is new", async (t) => {
  const { pi, received } = await load(t)
  const first = pi.session
  await pi.pass([user("one", 1)])
  for (const [reason, session] of [["new", "other"], ["reload", "other"], ["fork", "forked"], ["resume", first]] as const) {
    await pi.shutdown(reason)
    await pi.start(reason, session)
    await pi.emit("session_start", { reason }) // in rpc mode, Pi sends this event twice
  }
  assert.equal(starts(), 1)
  assert.equal(fake.received("initialize").length, 1)
  await pi.pass([user("one", 1), user("two", 2)])
  assert.deepEqual(received("session/transform").map(({ params }) => params!.keep), [0, 1])
})

test("a session that starts is told to the host once", async (t) => {
  const { pi, received } = await load(t, { hooks: ["session/event"] })
  await pi.emit("session_start", { reason: "startup" })
  await pi.pass([user("one")])
  assert.deepEqual(received("session/event").map(({ params }) => (params!.event as { type: string }).type), ["session_start"])
})

test("a fork whose messages have the old keys is another session", async (t) => {
  const { pi } = await load(t)
  await pi.pass([user("one", 1)])
  await pi.shutdown("fork")
  await pi.start("fork", "fork of it")
  assert.deepEqual(textOf(await pi.pass([user("one", 1)])), ["§user:1§ one"])
  assert.equal(fake.received("session/transform").at(-1)!.params!.base, 0)
})

test("an update that is loaded by /reload gets a home of its own", async (t) => {
  const { pi } = await load(t)
  const before = home()!
  Object.assign(before, { version: "0.0.1" })
  await pi.shutdown("reload")
  await pi.start("reload")
  assert.notEqual(home(), before)
  assert.deepEqual(textOf(await pi.pass([user("one", 1)])), ["§user:1§ one"])
})

test("a hidden subagent of the host has no extension", async (t) => {
  process.env.MAGICCTX_SUBAGENT = "1"
  t.after(() => delete process.env.MAGICCTX_SUBAGENT)
  const pi = new FakePi("/p", "s")
  await pi.start()
  assert.deepEqual(await pi.request([user("one")]).then(({ isTouched }) => isTouched), false)
})

test("the factory alone starts nothing", async () => {
  await leaveHome()
  const before = starts()
  new FakePi("/p", "s").load()
  assert.equal(home(), undefined)
  assert.equal(starts(), before)
})

test("when Pi quits, the host ends, and later events do nothing", async (t) => {
  const { pi } = await load(t)
  await pi.pass([user("one")])
  const before = Date.now()
  await pi.shutdown("quit")
  assert.ok(Date.now() - before < 2_000)
  assert.equal(fake.entries().at(-1)!.end, true, "the host has ended before Pi goes on")
  assert.equal(home(), undefined)
  assert.deepEqual(await pi.request([user("one")]).then(({ isTouched }) => isTouched), false)
})

// The agent loop of Pi 0.74 does not wait for event handlers, so Pi may quit while a handler still waits for the host.
// So the handler for the end of the session must wait for the other handlers.
test("the end of a session waits for handlers that run", async (t) => {
  const { pi, received } = await load(t, { hooks: ["text/complete", "session/event"] }, { results: { "text/complete": { text: "shorter" } } })
  const message = { role: "assistant", content: [{ type: "text", text: "longer" }], stopReason: "stop", timestamp: 5 }
  const end = pi.emit("message_end", { message })
  await pi.shutdown("quit")
  assert.deepEqual((await end).message.content, [{ type: "text", text: "shorter" }])
  assert.equal(received("session/event").length, 2)
})
