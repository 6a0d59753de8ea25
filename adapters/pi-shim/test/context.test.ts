import assert from "node:assert/strict"
import { test } from "node:test"
import { initialized } from "../../shim-core/test/fakehost.ts"
import type { Message } from "../src/pi.ts"
import { join } from "../src/steps.ts"
import { assistant, call, fake, load, result, textOf, user } from "./fake-pi.ts"

const text = (text: string) => ({ type: "text", text })
const passes = () => fake.received("session/transform").length

test("the messages of a request become the wire, in a new array", async (t) => {
  const { pi, received } = await load(t)
  const messages = [user("one"), assistant([text("ok"), call("a")]), result("a", "A")]
  const before = structuredClone(messages)
  const { messages: wire, isTouched } = await pi.request(messages)
  assert.ok(isTouched)
  assert.deepEqual(messages, before, "the session's own messages stay as they are")
  const keys = join(messages).map(({ id }) => id)
  assert.deepEqual(textOf(wire), [`§${keys[0]}§ one`, `§${keys[1]}§ ok`, "A"])
  const [first] = received("session/transform")
  assert.deepEqual(first!.params, { session: pi.session, directory: pi.cwd, model: { provider: "p", id: "m" }, base: 0, keep: 0 })
  const step = (first!.attachment as Array<{ id: string; results?: unknown[] }>)[1]!
  assert.equal(step.results!.length, 1, "the answer and its result are one message of the protocol")
})

test("the next pass sends only what is new, and says with which wire the last request left", async (t) => {
  const { pi, received } = await load(t)
  const messages = [user("one")]
  await pi.pass(messages)
  messages.push(assistant([call("a")]), result("a", "A"))
  await pi.pass(messages)
  messages.push(assistant([text("done")], { stopReason: "stop" }), user("two"))
  const { messages: wire } = await pi.request(messages)
  assert.equal(wire.length, 5)
  const sent = received("session/transform")
  assert.deepEqual(sent.map(({ params }) => params!.keep), [0, 1, 2])
  assert.deepEqual(sent.map(({ attachment }) => (attachment as unknown[]).length), [1, 1, 2])
  assert.deepEqual(sent.map(({ params }) => typeof params!.sent), ["undefined", "string", "string"])
})

test("a fork names its original", async (t) => {
  const { pi, received } = await load(t)
  pi.header = { parentSession: "/home/me_2/.pi/sessions/2026-11-26T10-00-00-000Z_my_session.jsonl" }
  await pi.request([user("one")])
  assert.equal(received("session/transform")[0]!.params!.original, "my_session")
})

// After an abort, Pi still makes a pass, but never sends the request.
test("a request that never reached the provider did not leave with the host's wire", async (t) => {
  const { pi, received } = await load(t)
  const messages = [user("one")]
  await pi.request(messages)
  messages.push(user("two"))
  await pi.pass(messages)
  assert.deepEqual(received("session/transform").map(({ params }) => params!.sent), [undefined, undefined])
})

test("a call and its result go together, and an answer of which nothing is left goes as a whole", async (t) => {
  const { pi } = await load(t)
  const messages = [user("go"), assistant([call("a"), call("b")]), result("a", "A"), result("b", "B"), assistant([call("c")]), result("c", "C"), user("on")]
  const [, two, three] = join(messages)
  const edits = {
    [two!.id]: [{ op: "remove", path: "/message/content/0" }, { op: "remove", path: "/results/0" }],
    [three!.id]: [{ op: "remove", path: "/message" }],
  }
  fake.follow({ edits: { [passes() + 1]: edits } })
  const wire = await pi.pass(messages)
  assert.deepEqual(wire.map(({ role }) => role), ["user", "assistant", "toolResult", "user"])
  assert.deepEqual((wire[1]!.content as Array<{ id: string }>).map(({ id }) => id), ["b"])
  assert.equal((wire[2] as unknown as { toolCallId: string }).toolCallId, "b")
  // In the next pass, the host's answer does not mention the unchanged steps again. The shim must still apply their
  // patches.
  messages.push(user("further"))
  assert.deepEqual((await pi.pass(messages)).map(({ role }) => role), ["user", "assistant", "toolResult", "user", "user"])
})

test("messages of the head, and unknown content, come through whole", async (t) => {
  const { pi } = await load(t)
  const odd = { role: "hologram", content: [{ type: "depth", data: { a: [1] } }], beam: 7, timestamp: 5 } as Message
  assert.deepEqual((await pi.pass([odd, user("one")]))[0], odd)
})

test("an episode of trouble keeps the last good mutation, shows one notice, and ends with a pass that works", async (t) => {
  const { pi } = await load(t)
  const [one, two] = [user("one"), assistant([text("ok"), call("a")])]
  const messages = [one, two, result("a", "A")]
  const good = await pi.pass(messages)
  const troubles = () => pi.notices.filter((notice) => notice.includes("magicctx is not working"))
  for (const episode of [1, 2]) {
    const full = { ...initialized, enabled: false, trouble: true, reason: "the disk is full" }
    fake.follow({ errors: { "session/transform": { code: -32011, message: "the disk is full" } }, results: { initialize: full } })
    for (let i = 0; i < 3; i++) {
      const raw = user(`new ${i}`)
      const { messages: wire, isTouched } = await pi.request([...messages, raw])
      assert.ok(isTouched)
      assert.deepEqual(wire, [...good, raw], "old messages as before, new ones as they came")
    }
    assert.equal(troubles().length, episode)
    assert.match(troubles().at(-1)!, /the disk is full.*Pi sends your prompts without it/)
    assert.match(pi.banners.at(-1)![0]!, /magicctx is not working/)
    fake.follow({})
    await pi.pass([...messages, user("works")])
    assert.equal(pi.banners.at(-1), undefined)
    assert.equal(troubles().length, episode)
  }
})

test("a message that has changed during trouble stays raw", async (t) => {
  const { pi } = await load(t)
  const messages = [user("one", 1), user("two", 2)]
  await pi.pass(messages)
  fake.follow({ errors: { "session/transform": { code: -32603, message: "scripted" } } })
  assert.deepEqual(textOf(await pi.pass([user("one", 1), user("edited", 2)])), ["§user:1§ one", "edited"])
})

test("a session that never had a good pass goes out as Pi made it while there is trouble", async (t) => {
  const { pi } = await load(t, {}, { errors: { "session/transform": { code: -32603, message: "scripted" } } })
  const messages = [user("one"), assistant([call("a")]), result("a", "A")]
  assert.deepEqual(await pi.request(messages), { messages, isTouched: false })
})

test("where magicctx is switched off nothing is touched, and the user learns the reason once", async (t) => {
  const { pi, received } = await load(t, { enabled: false, reason: "disabled in magicctx.jsonc", hooks: ["session/event"] })
  const messages = [user("one")]
  assert.deepEqual(await pi.request(messages), { messages, isTouched: false })
  await pi.shutdown("new")
  await pi.start("new", "another")
  assert.deepEqual(await pi.request(messages), { messages, isTouched: false })
  assert.deepEqual(pi.notices, ["warning: magicctx is off: disabled in magicctx.jsonc."])
  assert.deepEqual(received("session/transform"), [])
})

// Pi 0.74 continues the agent loop before it has written its session file, so during a pass the newest messages have
// no entries yet.
test("a pass needs no entries of the session", async (t) => {
  const { pi } = await load(t, {}, {}, (pi) => {
    pi.isNew = false
    Object.defineProperty(pi, "branch", { get: () => assert.fail("the session's entries were read") })
  })
  assert.deepEqual(textOf(await pi.pass([user("one", 1)])), ["§user:1§ one"])
})

test("a handler that meets garbage changes nothing and does not throw, and one notice says so", async (t) => {
  const { pi } = await load(t)
  assert.equal(await pi.emit("context", {}), undefined)
  assert.equal(await pi.emit("context_with_system", {}), undefined)
  assert.equal(await pi.emit("message_end", {}), undefined)
  assert.equal(await pi.emit("session_before_compact", {}), undefined)
  assert.equal(pi.notices.length, 1)
  assert.match(pi.notices[0]!, /does not know what this version of Pi does at context.*run: \S+ doctor/)
})

test("a host that dies in the middle of a pass is asked again, and the wire is the same", async (t) => {
  const { pi } = await load(t)
  const messages = [user("one", 1)]
  await pi.pass(messages)
  fake.follow({ passes: { [passes() + 1]: "die" } })
  messages.push(user("two", 2))
  assert.deepEqual(textOf(await pi.pass(messages)), ["§user:1§ one", "§user:2§ two"])
})
