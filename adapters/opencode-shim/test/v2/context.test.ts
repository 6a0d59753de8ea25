import assert from "node:assert/strict"
import { test } from "node:test"
import plugin from "../../src/index.ts"
import { Steps } from "../../src/v2/steps.ts"
import { answer, CacheHint, fake, load, Message, other, textOf, update, user } from "./fake-opencode2.ts"

interface Attached {
  id: string
  info: Record<string, unknown>
  message: { content: Array<Record<string, unknown>> }
  results?: unknown[]
}

const attached = (entry: { attachment?: unknown } | undefined) => entry!.attachment as Attached[]
const passes = () => fake.received("session/transform").length

test("OpenCode 1 calls this entry, too, with a context that has no sessions", async () => {
  assert.equal(await plugin.setup({}), undefined)
  assert.equal(await plugin.setup({ session: {} } as never), undefined)
  assert.equal(await plugin.setup(undefined as never), undefined)
})

test("the messages of a request become the wire; the ones without a patch stay OpenCode's own objects", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"), answer("a1", "ok", [{ id: "c1", output: "out" }]), update("The date has changed."), user("u2", "two"))
  const event = await opencode.request("s")
  assert.deepEqual(textOf(event), ["§u1§ one", "§a1§ ok", "out", "§system-after-a1§ The date has changed.", "§u2§ two"])
  assert.ok(event.messages.every((message) => message instanceof Message))
  const [first] = received("session/transform")
  assert.deepEqual(first!.params, { session: "s", directory: opencode.directory, model: { provider: "p", id: "m" }, base: 0, keep: 0 })
  const [u1, a1, system, u2] = attached(first)
  assert.deepEqual([u1!.id, a1!.id, system!.id, u2!.id], ["u1", "a1", "system-after-a1", "u2"])
  assert.equal(a1!.results!.length, 1, "the answer and its result are one message of the protocol")
  assert.deepEqual(u1!.info, { type: "user", created: u1!.info.created, typed: 0, agent: "build" })
  assert.deepEqual(a1!.info.tokens, { input: 100, output: 5, cache: { read: 20, write: 3 } })
  assert.equal(a1!.info.finish, "tool-calls")
})

test("a prompt without an answer keeps its agent, so it has not changed if the next prompt is for another one", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  opencode.emit("session.revert.staged", { sessionID: "s" }) // the shim forgets the facts of the session
  opencode.add("s", user("u2", "two"))
  await opencode.request("s", { agent: "plan" })
  const [, second] = received("session/transform")
  assert.equal(second!.params!.keep, 1)
  assert.deepEqual(attached(second).map(({ id, info }) => [id, info.agent]), [["u2", "plan"]])
  await opencode.request("s", { agent: "build" })
  assert.deepEqual(attached(received("session/transform")[2]).map(({ id, info }) => [id, info.agent]), [["u2", "build"]], "the newest prompt is for the agent of its request")
})

test("the agents of prompts do not fill the memory of a server that runs for months", () => {
  const asked = new Map<string, string>()
  for (let session = 0; session < 30; session++) {
    new Steps(Array.from({ length: 500 }, (_, i) => new Message({ role: "user", content: [], id: `u${session}-${i}` })), new Map(), "build", asked)
  }
  assert.deepEqual([asked.size, asked.has("u29-0"), asked.has("u0-499")], [10_000, true, false])
})

test("the next request sends only what is new, and asks OpenCode only about it", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  opencode.emit("session.step.started", { sessionID: "s", assistantMessageID: "a1", agent: "build", model: { providerID: "p", id: "m" } })
  opencode.emit("session.step.ended", { sessionID: "s", assistantMessageID: "a1", finish: "tool-calls", tokens: { input: 7, output: 1, cache: { read: 0, write: 0 } } })
  await fake.until(() => received("session/event").length === 1)
  opencode.add("s", answer("a1", "ok", [{ id: "c1", output: "out" }]))
  await opencode.request("s")
  const [, second] = received("session/transform")
  assert.deepEqual([second!.params!.keep, attached(second).length, typeof second!.params!.sent], [1, 1, "string"])
  assert.deepEqual([(attached(second)[0]!.info.tokens as { input: number }).input, opencode.lookups.length], [7, 1], "the event has told the usage")
})

// OpenCode calls the hook again before each retry. After an interrupt, it may do so while an earlier call still runs.
test("a second call with the same messages gets the same bytes", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"), answer("a1", "ok", [{ id: "c1", output: "out" }]))
  const all = await Promise.all([opencode.request("s"), opencode.request("s"), opencode.request("s")])
  const [first, ...others] = all.map(({ messages, system }) => JSON.stringify({ messages, system }))
  for (const again of others) assert.equal(again, first)
  assert.deepEqual(received("session/transform").map(({ params }) => params!.sent), [undefined, undefined, undefined], "none of them is known to have left")
})

test("a call and its result go together, and an answer of which nothing is left goes as a whole", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "go"), answer("a1", "", [{ id: "c1", output: "A" }, { id: "c2", output: "B" }]), answer("a2", "", [{ id: "c3", output: "C" }]), user("u2", "on"))
  fake.follow({ edits: { [passes() + 1]: {
    a1: [{ op: "remove", path: "/message/content/0" }, { op: "remove", path: "/results/0" }],
    a2: [{ op: "remove", path: "/results" }, { op: "remove", path: "/message" }],
  } } })
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ go", "c2", "B", "§u2§ on"])
})

test("a text that a patch empties is not sent, and neither is a message that consists of it", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "go"), answer("a1", "let me see", [{ id: "c1", output: "A" }]), answer("a2", "hm"), user("u2", "on"))
  const empty = [{ op: "replace", path: "/message/content/0/text", value: "" }]
  fake.follow({ edits: { [passes() + 1]: { a1: empty, a2: empty } } })
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ go", "c1", "A", "§u2§ on"])
})

test("the content of files is not sent to the host, and reaches the model", async (t) => {
  const { opencode, received } = await load(t)
  const data = "A".repeat(10_000)
  const image = { type: "media", media: { mediaType: "image/png", source: { type: "base64", data } }, filename: "a.png" }
  const result = { type: "content", value: [{ type: "text", text: "seen" }, { type: "file", mime: "image/png", uri: `data:image/png;base64,${data}` }] }
  opencode.add("s", user("u1", "look", { content: [{ type: "text", text: "look" }, image] }), answer("a1", "", [{ id: "c1" }]), { entries: [{ role: "tool", content: [{ type: "tool-result", id: "c1", name: "read", result }] }] })
  const event = await opencode.request("s")
  assert.deepEqual([event.messages[0]!.content[1], event.messages[2]!.content[0]!.result], [image, result])
  const [entry] = received("session/transform")
  assert.ok(JSON.stringify(entry!.attachment).length < 4_000)
  const [u1, a1] = attached(entry)
  assert.match((u1!.info.media as Record<string, string>)["/message/content/1"]!, /^data:image\/png;base64,A{512}#10022-A{32}$/)
  assert.ok((a1!.info.media as Record<string, string>)["/results/0/content/0/result/value/1"])
})

test("members that the shim does not know reach the model: a cache hint stays an instance", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "one"))
  const messages = [new Message({ id: "u1", role: "user", content: [{ type: "text", text: "one", cache: new CacheHint(), beam: 7 }], native: { x: 1 } })]
  const [sent] = (await opencode.request("s", { messages: messages as never })).messages as unknown as Array<{ content: Array<Record<string, unknown>>; native: unknown }>
  assert.ok(sent!.content[0]!.cache instanceof CacheHint)
  assert.deepEqual([sent!.content[0]!.text, sent!.content[0]!.beam, sent!.native], ["§u1§ one", 7, { x: 1 }])
})

test("messages of the head are in front, without ids, and system updates behind it", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "one"), update("The date has changed."), answer("a1", "ok"), user("u2", "two"))
  const head = ["history", "yes", "news"].map((text, i) => ({ id: `h${i}`, info: {}, message: { id: `h${i}`, role: i === 1 ? "assistant" : "user", content: [{ type: "text", text }] } }))
  fake.follow({ heads: { [passes() + 1]: { start: 3, head, pinned: ["system-after-u1"] } as never } })
  const event = await opencode.request("s")
  assert.deepEqual(textOf(event), ["history", "yes", "news", "§system-after-u1§ The date has changed.", "§u2§ two"])
  assert.deepEqual(event.messages[0], { role: "user", content: [{ type: "text", text: "history" }] })
})

test("only a prompt is the user's: the kinds of the stored messages reach the host", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", other("y1", "synthetic", "restarted"), other("k1", "skill", "skill"), other("h1", "shell", "ls"), user("u1", "words", { content: [{ type: "text", text: "skill" }, { type: "text", text: "words" }] }))
  await opencode.request("s")
  const kinds = attached(received("session/transform")[0]).map(({ info }) => [info.type, info.typed])
  assert.deepEqual(kinds, [["synthetic", undefined], ["skill", undefined], ["shell", undefined], ["user", 1]])
})

test("things that are no messages pass through, and nothing throws", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "one"))
  for (const messages of [[null], ["text"], [{ role: "user" }], [{ id: 5, role: "user", content: "text" }]]) {
    const event = { sessionID: "s", agent: "build", model: { providerID: "p", id: "m" }, system: [], tools: {}, messages }
    const before = structuredClone(messages)
    await opencode.request("s", event as never).catch((err: Error) => assert.match(err.message, /Schema|null|undefined/))
    assert.equal(messages.length, before.length)
  }
})

test("the system prompt is the host's; a part that stays the same is OpenCode's own object", async (t) => {
  const { opencode, received } = await load(t, {}, { results: { "session/system": { system: ["You are.", "Here. Guidance."] } } })
  opencode.add("s", user("u1", "one"))
  const system = [{ type: "text", text: "You are.", cache: new CacheHint() }, { type: "text", text: "Here.", metadata: { a: 1 } }]
  const event = await opencode.request("s", { system: system as never })
  assert.equal(event.system[0], system[0])
  assert.deepEqual(event.system[1], { type: "text", text: "Here. Guidance.", metadata: { a: 1 } })
  assert.deepEqual(received("session/system")[0]!.params!.system, ["You are.", "Here."])
})

test("a request that keeps the prefix warm gets the same changes, and is no pass", async (t) => {
  const { opencode, received } = await load(t, {}, { results: { "session/system": { system: ["You are.", "Here. Guidance."] } } })
  opencode.add("s", user("u1", "one"), answer("a1", "ok", [{ id: "c1", output: "out" }]))
  const one = await opencode.request("s")
  const two = await opencode.request("s", {}, "generate")
  assert.deepEqual([two.messages, two.system], [one.messages, one.system])
  assert.equal(received("session/transform").length, 1)
})

test("after a bust the answer may be as long as the freed room allows", async (t) => {
  const { opencode } = await load(t)
  opencode.models = [{ id: "m", providerID: "p", limit: { context: 100_000, output: 32_000 } }]
  opencode.add("s", user("u1", "one"))
  assert.equal((await opencode.request("s", { options: { maxTokens: 1_024 } })).options!.maxTokens, 1_024, "a steady pass frees nothing")
  fake.follow({ passes: { [passes() + 1]: "hard" } })
  assert.equal((await opencode.request("s", { options: { maxTokens: 1_024 } })).options!.maxTokens, 32_000)
  opencode.add("s", answer("a1", "x".repeat(285_000)))
  fake.follow({ passes: { [passes() + 1]: "hard" } })
  const { maxTokens } = (await opencode.request("s", { options: { maxTokens: 1_024 } })).options!
  assert.ok(maxTokens! > 1_024 && maxTokens! < 5_000, `${maxTokens}`)
})

test("without a host, the last good changes stay, and a pass that works ends the trouble", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  fake.follow({ passes: { [passes() + 1]: "error" } })
  opencode.add("s", answer("a1", "ok"), user("u2", "two"))
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ one", "ok", "two"])
  fake.follow({})
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ one", "§a1§ ok", "§u2§ two"])
  assert.equal(received("session/transform").length, 3)
})

test("a subagent names its parent, and a fork its original", async (t) => {
  const { opencode, received } = await load(t)
  opencode.parents = { child: "s" }
  opencode.originals = { fork: "s" }
  for (const id of ["child", "fork"]) {
    opencode.add(id, user("u1", "one"))
    await opencode.request(id)
  }
  const [child, fork] = received("session/transform").map(({ params }) => params!)
  assert.deepEqual([child!.parent, child!.original, fork!.parent, fork!.original], ["s", undefined, undefined, "s"])
})
