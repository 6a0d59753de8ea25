import assert from "node:assert/strict"
import { test } from "node:test"
import { assistant, call, fake, load, mockModel, user } from "./fake-pi.ts"

const text = (text: string) => ({ type: "text", text })

test("events reach the host in order, reduced to what it uses", async (t) => {
  const { pi, received } = await load(t, { hooks: ["session/event"] })
  await pi.pass([user("one")])
  const message = assistant([text("secret"), call("a")], { responseId: "r", diagnostics: {} }, 7)
  await pi.emit("message_end", { message })
  await pi.emit("message_end", { message: user("no answer") })
  await pi.emit("model_select", { model: mockModel, previousModel: undefined, source: "set" })
  await pi.emit("session_tree", { newLeafId: "b", oldLeafId: "a" })
  await pi.emit("session_compact", { compactionEntry: {}, fromExtension: true })
  await pi.emit("session_info_changed", { name: "Parser" })
  await pi.emit("agent_end", { messages: [message] })
  await pi.emit("agent_settled", { aborted: false })
  await pi.pass([user("two")])
  const events = received("session/event").map(({ params }) => params!.event)
  const { content: _, ...reduced } = assistant([], {}, 7)
  assert.deepEqual(events, [
    { type: "session_start", reason: "startup", model: { provider: "p", id: "m" } },
    { type: "message_end", id: "assistant:7", message: reduced },
    { type: "model_select", model: { provider: "p", id: "m" } },
    { type: "session_tree", newLeafId: "b", oldLeafId: "a" },
    { type: "session_compact", fromExtension: true },
    { type: "session_info_changed", name: "Parser" },
    { type: "agent_end" },
    { type: "agent_settled" },
  ])
  assert.equal(typeof received("session/event")[1]!.params!.sent, "string", "an answer names the wire of its request")
})

test("a refusal reaches the host with its text, and no wire", async (t) => {
  const { pi, received } = await load(t, { hooks: ["session/event", "text/complete"] })
  await pi.request([user("one")])
  await pi.emit("message_end", { message: assistant([], { stopReason: "error", errorMessage: "400 prompt is too long" }, 7) })
  await pi.pass([user("two")])
  assert.equal(typeof received("session/transform").at(-1)!.params!.sent, "string", "the refused request left with the host's wire")
  const { event, sent } = received("session/event").at(-1)!.params as { event: { message: { errorMessage: string } }; sent?: string }
  assert.deepEqual([event.message.errorMessage, sent], ["400 prompt is too long", undefined])
  assert.equal(received("text/complete").length, 0)
})

test("the host is called only for the optional hooks that it asked for", async (t) => {
  const { pi } = await load(t)
  const before = fake.entries().length
  assert.equal(await pi.emit("message_end", { message: assistant([text("a")]) }), undefined)
  await pi.emit("agent_end", { messages: [] })
  const ofTheScreen = ["session/status", "session/subscribe"] // the start of the session does not wait for these calls
  assert.deepEqual(fake.story().slice(before).filter((method) => !ofTheScreen.includes(method)), [])
})

test("a tag that the model has imitated comes off before Pi stores the text", async (t) => {
  const { pi, received } = await load(t, { hooks: ["text/complete"] }, { results: { "text/complete": { text: "clean" } } })
  await pi.pass([user("one")])
  const message = assistant([{ type: "thinking", thinking: "hm" }, text("§3§ clean"), text(""), call("a")], {}, 9)
  const changed = await pi.emit("message_end", { message })
  assert.deepEqual(changed.message, { ...message, content: [{ type: "thinking", thinking: "hm" }, text("clean"), text(""), call("a")] })
  const { sent, ...params } = received("text/complete")[0]!.params!
  assert.deepEqual(params, { session: pi.session, text: "§3§ clean", message: "assistant:9" })
  assert.equal(typeof sent, "string")
  assert.equal(await pi.emit("message_end", { message: assistant([text("clean")]) }), undefined, "an unchanged message is not replaced")
})

test("a host that fails changes no answer", async (t) => {
  const error = { code: -32603, message: "scripted" }
  const { pi } = await load(t, { hooks: ["text/complete"] }, { errors: { "text/complete": error } })
  assert.equal(await pi.emit("message_end", { message: assistant([text("a")]) }), undefined)
})

test("a prefix that Pi keeps warm while the session is idle is told to the host once", async (t) => {
  const { pi, received } = await load(t)
  const warmed = () => received("initialize").map(({ params }) => params!.keptWarmSeconds)
  pi.isIdle = false
  await pi.emit("cache_warming_decision", { action: "warm" }) // a refresh while the run is still going on
  pi.isIdle = true
  await pi.emit("cache_warming_decision", { action: "stop" })
  assert.deepEqual(warmed(), [undefined])
  await pi.emit("cache_warming_decision", { action: "warm" })
  await pi.emit("cache_warming_decision", { action: "warm" })
  await pi.pass([user("one")])
  assert.deepEqual(warmed(), [undefined, 1800])
})
