import assert from "node:assert/strict"
import { test } from "node:test"
import type { Event } from "../../src/v1/opencode.ts"
import { fake, load, pass, textOf, user } from "./fake-opencode.ts"

const event = (type: string, properties: Event["properties"]): { event: Event } => ({ event: { id: "evt", type, properties } })

test("the messages of a request become the wire, in place", async (t) => {
  const { hooks, received, directory } = await load(t)
  const messages = [user("u1", "one", {}, "ses_wire")]
  const array = messages
  await pass(hooks, messages)
  assert.equal(messages, array)
  assert.deepEqual(textOf(messages), ["§u1§ one"])
  assert.deepEqual(textOf(await pass(hooks, [user("u1", "one", {}, "ses_wire"), user("u2", "two", {}, "ses_wire")])), ["§u1§ one", "§u2§ two"])
  const [first, second] = received("session/transform")
  assert.deepEqual(first!.params, { session: "ses_wire", directory, base: 0, keep: 0 })
  assert.equal(second!.params!.keep, 1)
  assert.deepEqual((second!.attachment as unknown[]).length, 1)
})

test("the parent of a session is asked for once, and learned from events for nothing", async (t) => {
  const { hooks, opencode, received } = await load(t)
  opencode.parents.ses_child = "ses_parent"
  await pass(hooks, [user("u1", "one", {}, "ses_child")])
  await pass(hooks, [user("u1", "one", {}, "ses_child")])
  await hooks.event!(event("session.created", { sessionID: "ses_known", info: { id: "ses_known", parentID: "ses_other" } }))
  await pass(hooks, [user("u1", "one", {}, "ses_known")])
  assert.deepEqual(opencode.lookups, ["ses_child"])
  assert.deepEqual(received("session/transform").map(({ params }) => params!.parent), ["ses_parent", "ses_parent", "ses_other"])
})

test("native compaction gets its array unchanged, and the shim still remembers the session's own array", async (t) => {
  const { hooks, received } = await load(t)
  await pass(hooks, [user("u1", "one", {}, "ses_c")])
  await hooks["experimental.session.compacting"]!({ sessionID: "ses_c" }, {})
  assert.deepEqual(textOf(await pass(hooks, [user("u1", "one", {}, "ses_c")])), ["one"])
  await pass(hooks, [user("u1", "one", {}, "ses_c"), user("u2", "two", {}, "ses_c")])
  assert.deepEqual(received("session/transform").map(({ params }) => params!.keep), [0, 1])
})

test("the host does not hear that native compaction was refused, but that the session's own prompt was", async (t) => {
  const { hooks, received } = await load(t, { hooks: ["session/event"] })
  const refuse = (message: string) => hooks.event!(event("session.error", { sessionID: "ses_c", error: { name: "ContextOverflowError", data: { message } } }))
  await pass(hooks, [user("u1", "one", {}, "ses_c")])
  await hooks["experimental.session.compacting"]!({ sessionID: "ses_c" }, {})
  await pass(hooks, [user("u1", "one", {}, "ses_c")])
  await refuse("of the compaction")
  await pass(hooks, [user("u1", "one", {}, "ses_c"), user("u2", "two", {}, "ses_c")])
  await refuse("of the prompt")
  await pass(hooks, [user("u1", "one", {}, "ses_c"), user("u2", "two", {}, "ses_c")]) // a pass is sent after the events
  assert.deepEqual(received("session/event").map(({ params }) => (params as any).event.properties.error.data.message), ["of the prompt"])
})

test("the messages and the system prompt of hidden agents stay unchanged", async (t) => {
  const agent = { name: "magicctx-historian", description: "d", prompt: "p", tools: [] }
  const { hooks, received } = await load(t, { agents: [agent] })
  assert.deepEqual(textOf(await pass(hooks, [user("u1", "one", { agent: agent.name }, "ses_h")])), ["one"])
  const system = ["bytes"]
  await hooks["experimental.chat.system.transform"]!({ sessionID: "ses_h", model: { id: "m", providerID: "p" } }, { system })
  assert.deepEqual(system, ["bytes"])
  assert.equal(received("session/transform").length + received("session/system").length, 0)
})

test("the system prompt is replaced in place", async (t) => {
  const { hooks, received, directory } = await load(t, {}, { results: { "session/system": { system: ["a", "b"] } } })
  const system = ["old"]
  await hooks["experimental.chat.system.transform"]!({ sessionID: "ses_1", model: { id: "m", providerID: "p" } }, { system })
  assert.deepEqual(system, ["a", "b"])
  await hooks["experimental.chat.system.transform"]!({}, { system })
  assert.deepEqual(
    received("session/system").map(({ params }) => params),
    [{ session: "ses_1", directory, model: { provider: "p", id: "m" }, system: ["old"] }],
  )
})

test("only the listed events are forwarded, in order", async (t) => {
  const { hooks, received } = await load(t, { hooks: ["session/event"] })
  const events = [
    event("message.part.delta", { sessionID: "s" }),
    event("session.created", { info: { id: "s" } }),
    event("message.updated", { info: { id: "m", sessionID: "s" } }),
    event("file.edited", {}),
    event("session.idle", { sessionID: "s" }),
  ]
  for (const e of events) await hooks.event!(e)
  await pass(hooks, [user("u1", "one", {}, "ses_e")])
  assert.deepEqual(
    received("session/event").map(({ params }) => [params!.session, (params!.event as Event).type]),
    [
      ["s", "session.created"],
      ["s", "message.updated"],
      ["s", "session.idle"],
    ],
  )
})

test("the host is called only for the optional hook that it asked for", async (t) => {
  const results = { "text/complete": { text: "shorter" } }
  const run = async ({ hooks }: Awaited<ReturnType<typeof load>>) => {
    const text = { text: "longer" }
    await hooks["experimental.text.complete"]!({ sessionID: "ses_o" }, text)
    return text.text
  }
  const before = fake.entries().length
  assert.equal(await run(await load(t, {}, { results })), "longer")
  assert.deepEqual(fake.story().slice(before).filter((method) => method !== "initialize" && method !== "start"), [])
  assert.equal(await run(await load(t, { hooks: Object.keys(results) }, { results })), "shorter")
})

test("a hook that fails changes nothing and does not throw", async (t) => {
  const error = { code: -32603, message: "scripted" }
  const methods = ["session/transform", "session/system", "text/complete"]
  const { hooks } = await load(t, { hooks: methods }, { errors: Object.fromEntries(methods.map((method) => [method, error])) })
  const system = ["s"]
  const text = { text: "t" }
  await hooks["experimental.chat.system.transform"]!({ sessionID: "ses_f" }, { system })
  await hooks["experimental.text.complete"]!({ sessionID: "ses_f" }, text)
  await hooks["chat.message"]!({ sessionID: "ses_f" }, { message: { id: "u9", time: { created: 1 } }, parts: [] })
  assert.deepEqual([system, text.text, textOf(await pass(hooks, [user("u1", "one", {}, "ses_f")]))], [["s"], "t", ["one"]])
  // Values that no version of OpenCode passes must not make a hook throw.
  await hooks["experimental.chat.messages.transform"]!({}, {} as never)
  await hooks.event!({} as never)
})

test("in a disabled directory nothing changes, and the user learns the reason", async (t) => {
  const { hooks, opencode, received } = await load(t, { enabled: false, reason: "the disk is full", hooks: ["session/event"] })
  assert.deepEqual(textOf(await pass(hooks, [user("u1", "one", {}, "ses_d")])), ["one"])
  await hooks.event!(event("session.idle", { sessionID: "ses_d" }))
  assert.deepEqual(opencode.logged, ["magicctx is off: the disk is full."])
  assert.deepEqual(received("session/transform"), [])
})

test("OpenCode is not called while it starts, because it accepts no calls yet", async (t) => {
  const { hooks, opencode } = await load(t, { warnings: ["misspelt key"] })
  assert.deepEqual(opencode.logged, [])
  await hooks.event!(event("session.idle", { sessionID: "s" }))
  assert.deepEqual(opencode.logged, ["misspelt key"])
})
