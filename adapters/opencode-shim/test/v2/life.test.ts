import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import type { InitializeResult } from "@magicctx/shim-core"
import { initialized } from "../../../shim-core/test/fakehost.ts"
import type { PluginContext, StoredMessage } from "../../src/v2/opencode2.ts"
import { answer, fake, load, textOf, user } from "./fake-opencode2.ts"

const tools: InitializeResult["tools"] = [{ name: "ctx_reduce", description: "Drop.", parameters: { type: "object" } }]

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

test("usage and refusals reach the host from the events of this directory", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  const tokens = { input: 7, output: 1, cache: { read: 3, write: 2 } }
  const error = { type: "provider.invalid-request", message: "prompt is too long", status: 400 }
  opencode.emit("session.step.started", { sessionID: "s", assistantMessageID: "a1" }, { created: 5 })
  opencode.emit("session.step.ended", { sessionID: "s", assistantMessageID: "a1", finish: "stop", tokens }, { created: 9 })
  opencode.emit("session.step.ended", { sessionID: "x", assistantMessageID: "a9", finish: "stop", tokens }, { location: { directory: "/elsewhere" } })
  opencode.emit("session.step.failed", { sessionID: "s", assistantMessageID: "a2", error }, { created: 10 })
  opencode.emit("session.renamed", { sessionID: "s", title: "T" })
  opencode.emit("session.compaction.ended", { sessionID: "s" })
  opencode.emit("session.tool.called", { sessionID: "s" })
  opencode.emit("session.deleted", { sessionID: "s" })
  await fake.until(() => received("session/event").length === 5)
  const events = received("session/event").map(({ params }) => params!)
  assert.deepEqual(events.map(({ event }) => (event as { type: string }).type), ["session.step.ended", "session.step.failed", "session.renamed", "session.compaction.ended", "session.deleted"])
  assert.deepEqual(events[0]!.event, { type: "session.step.ended", id: "a1", info: { type: "assistant", completed: 9, finish: "stop", tokens }, session: "s" })
  // A fixed bug: if the plugin was loaded again after an interrupted answer, the answer's thinking was lost.
  assert.deepEqual(events.slice(0, 2).map(({ sent }) => typeof sent), ["string", "string"], "the request has left with the host's wire")
  assert.deepEqual((events[1]!.event as { error: unknown }).error, error)
})

test("a stream of events that ends is read again, and the stored messages tell what was lost", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  await until(() => opencode.isRead)
  opencode.cut()
  await until(() => !opencode.isRead)
  opencode.add("s", answer("a1", "ok"), user("u2", "two"))
  await until(() => opencode.isRead)
  await opencode.request("s")
  const [, second] = received("session/transform")
  const [a1] = second!.attachment as Array<{ info: { tokens: { input: number } } }>
  assert.equal(a1!.info.tokens.input, 100)
  opencode.emit("session.renamed", { sessionID: "s", title: "T" })
  await fake.until(() => received("session/event").length === 1)
})

test("without a host, a message whose facts come from another source keeps its changes", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  opencode.emit("session.step.started", { sessionID: "s", assistantMessageID: "a1", agent: "build", model: { providerID: "p", id: "m" } })
  opencode.emit("session.step.ended", { sessionID: "s", assistantMessageID: "a1", finish: "stop", tokens: { input: 7, output: 1, cache: { read: 0, write: 0 } } })
  await fake.until(() => received("session/event").length === 1)
  opencode.add("s", answer("a1", "ok"))
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ one", "§a1§ ok"])
  opencode.add("s", user("u2", "two"))
  fake.follow({ passes: { [fake.received("session/transform").length + 1]: "error" } })
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ one", "§a1§ ok", "two"], "the new prompt made the shim ask for all stored messages")
})

test("events and stored messages tell the same about an answer", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  const model = { providerID: "p", id: "m" }
  const start = (started: number) => opencode.emit("session.step.started", { sessionID: "s", assistantMessageID: "a1", agent: "build", model, started }, { created: started + 3 })
  start(4)
  opencode.emit("session.step.failed", { sessionID: "s", assistantMessageID: "a1", error: { type: "provider.internal", message: "no" } }, { created: 8 })
  start(14)
  opencode.emit("session.step.failed", { sessionID: "s", assistantMessageID: "a1", error: { type: "aborted", message: "Step interrupted" } }, { created: 19 })
  await fake.until(() => received("session/event").length === 2)
  opencode.add("s", answer("a1", "ok"))
  await opencode.request("s")
  const [a1] = received("session/transform")[1]!.attachment as Array<{ info: Record<string, unknown> }>
  assert.deepEqual(a1!.info, { type: "assistant", created: 14, completed: 19, agent: "build", providerID: "p", modelID: "m", finish: "error", error: { type: "aborted" } })
})

test("if the event of an answer's start was lost, the stored messages tell its time", async (t) => {
  const { opencode, received } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  opencode.emit("session.step.ended", { sessionID: "s", assistantMessageID: "a1", finish: "stop", tokens: { input: 7, output: 1, cache: { read: 0, write: 0 } } })
  await fake.until(() => received("session/event").length === 1)
  opencode.add("s", answer("a1", "ok"))
  await opencode.request("s")
  const [a1] = received("session/transform")[1]!.attachment as Array<{ info: Record<string, unknown> }>
  assert.equal(typeof a1!.info.created, "number")
})

test("a tool of the host is called directly, and a failure is a text for the model", async (t) => {
  const { opencode, received } = await load(t, { tools }, { results: { "tool/execute": { output: "Dropped." } } })
  await until(() => opencode.tools.has("ctx_reduce"))
  const tool = opencode.tools.get("ctx_reduce")!
  assert.deepEqual([tool.description, tool.input, tool.options], ["Drop.", { type: "object" }, { codemode: false }])
  const context = { sessionID: "s", id: "c1", signal: new AbortController().signal }
  assert.deepEqual((await tool.execute({ drop: "1" }, context)).content, [{ type: "text", text: "Dropped." }])
  assert.deepEqual(received("tool/execute")[0]!.params, { session: "s", directory: opencode.directory, tool: "ctx_reduce", callId: "c1", args: { drop: "1" } })
  fake.follow({ errors: { "tool/execute": { code: -32602, message: "no such tag" } } })
  assert.deepEqual((await tool.execute({}, { ...context, id: "c2" })).content, [{ type: "text", text: "no such tag" }])
})

test("the tools of an earlier start are there at once, until the host has answered otherwise", async (t) => {
  const { opencode, dispose } = await load(t, { tools })
  await until(() => opencode.tools.has("ctx_reduce"))
  await dispose!()
  opencode.tools.clear()
  fake.follow({ results: { initialize: { ...initialized, tools: [] } }, silent: ["initialize"] })
  const plugin = (await import("../../src/index.ts")).default
  const again = await plugin.setup(opencode.ctx)
  t.after(() => again?.())
  await until(() => opencode.tools.has("ctx_reduce"))
  fake.follow({ results: { initialize: { ...initialized, tools: [] } } })
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  await until(() => opencode.tools.size === 0)
})

test("a directory that is new gets the tools of another one at once, and from its second start on none if magicctx is off", async (t) => {
  const other = await load(t, { tools })
  await until(() => other.opencode.tools.has("ctx_reduce"))
  const { opencode, dispose } = await load(t, { enabled: false, reason: "disabled in magicctx.jsonc", tools: [] }, { silent: ["initialize"] })
  await until(() => opencode.tools.has("ctx_reduce"))
  fake.follow({ results: { initialize: { ...initialized, enabled: false, reason: "disabled in magicctx.jsonc", tools: [] } } })
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  await until(() => opencode.tools.size === 0)
  await dispose!()
  fake.follow({ silent: ["initialize"] })
  const plugin = (await import("../../src/index.ts")).default
  t.after((await plugin.setup(opencode.ctx))!)
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(opencode.tools.size, 0)
})

test("the host learns a model's limits from OpenCode's catalogue", async (t) => {
  const ask = { ask: { "session/transform": ["models/limits", { model: { provider: "p", id: "m" }, directory: "" }] as [string, unknown] } }
  const { opencode } = await load(t)
  opencode.models = [{ id: "m", providerID: "p", package: "aisdk:@ai-sdk/anthropic", limit: { context: 200_000, output: 8_000 }, cost: [{ tier: { type: "context", size: 1 }, input: 9 }, { input: 3, output: 15, cache: { read: 0.3, write: 3.75 } }] }]
  opencode.add("s", user("u1", "one"))
  ask.ask["session/transform"][1] = { directory: opencode.directory, model: { provider: "p", id: "m" } }
  fake.follow(ask)
  await opencode.request("s")
  const { answer } = fake.entries().findLast((entry) => entry.answer !== undefined)!
  assert.deepEqual(answer, { contextTokens: 200_000, inputTokens: 0, outputTokens: 8_000, price: { fresh: 3, write: 3.75, read: 0.3, output: 15 }, npm: "@ai-sdk/anthropic" })
})

test("a compaction is answered with the head, and with what the head does not cover", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "one"), answer("a1", "ok"), user("u2", "two"), answer("a2", "", [{ id: "c1", output: "out" }]))
  assert.equal((await opencode.request("s", {}, "compaction")).result, undefined, "there is no head yet")
  const head = ["history", "yes", "news"].map((text, i) => ({ id: `h${i}`, info: {}, message: { id: `h${i}`, role: i === 1 ? "assistant" : "user", content: [{ type: "text", text }] } }))
  fake.follow({ heads: { [fake.received("session/transform").length + 1]: { start: 2, head } } })
  await opencode.request("s")
  const { result } = await opencode.request("s", {}, "compaction")
  assert.deepEqual(result, { summary: 'history\n\nnews\n\n[user]: §u2§ two\n\n[assistant]: [call of read]: {"path":"c1"}\n\n[tool]: out' })
  opencode.models = [{ id: "m", providerID: "p", limit: { context: 10_000, output: 2_000 } }]
  opencode.add("s", answer("a3", "x".repeat(4_000)))
  await opencode.request("s")
  assert.equal((await opencode.request("s", {}, "compaction")).result, undefined, "the text would fill the model's small window")
  opencode.models = []
  assert.ok((await opencode.request("s", {}, "compaction")).result)
  opencode.add("s", answer("a4", "x".repeat(70_000)), user("u3", "on"))
  await opencode.request("s")
  assert.equal((await opencode.request("s", {}, "compaction")).result, undefined, "much text would follow the head, so OpenCode's model summarises it")
})

test("a hidden agent answers in a session without parent and tools, which is removed", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  const run = { run: "r1", directory: opencode.directory, session: "s", agent: "magicctx-historian", title: "history", system: "Summarise.", prompt: "All of this.", tools: [], timeoutMs: 5_000, maxOutput: 2_000 }
  fake.follow({ ask: { "session/transform": ["agent/run", run] } })
  opencode.answering = async (id, text) => {
    const event = await opencode.request(id, { tools: { read: {} } })
    assert.deepEqual([text, event.system, event.tools], ["All of this.", [{ type: "text", text: "Summarise." }], {}])
    assert.deepEqual(event.options, { maxTokens: 2_000 })
    assert.equal((await opencode.request(id, { options: { maxTokens: 500 } })).options!.maxTokens, 500)
    assert.equal((await opencode.request(id, {}, "title")).result, "magicctx")
    const stored: StoredMessage = { id: "h1", type: "assistant", time: { created: 1, completed: 2 }, model: { providerID: "p", id: "m" }, finish: "stop", tokens: { input: 9, output: 2, cache: { read: 0, write: 0 } }, content: [{ type: "text", text: "Summary." }] }
    opencode.add(id, { stored, entries: [] })
    opencode.emit("session.execution.succeeded", { sessionID: id })
  }
  await opencode.request("s")
  assert.deepEqual(opencode.created, [{ title: "magicctx: history", location: { directory: opencode.directory }, permissions: [{ action: "*", resource: "*", effect: "deny" }], model: { providerID: "p", id: "m" } }])
  const { answer } = fake.entries().findLast((entry) => entry.answer !== undefined)!
  assert.deepEqual(answer, { answers: [{ id: "h1", info: { type: "assistant", created: 1, completed: 2, providerID: "p", modelID: "m", finish: "stop", tokens: { input: 9, output: 2, cache: { read: 0, write: 0 } } }, message: { id: "h1", role: "assistant", content: [{ type: "text", text: "Summary." }] } }] })
  await until(() => opencode.removed.length === 1 && opencode.stored.size === 0)
})

test("an agent that calls tools for ever ends after its last step", async (t) => {
  const { opencode } = await load(t)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  const run = { run: "r2", directory: opencode.directory, session: "s", agent: "a", title: "t", system: "S", prompt: "P", tools: [], timeoutMs: 5_000, steps: 2 }
  fake.follow({ ask: { "session/transform": ["agent/run", run] } })
  opencode.answering = async (id) => {
    for (let n = 0; n < 3; n++) await opencode.request(id)
  }
  await opencode.request("s")
  const { answer } = fake.entries().findLast((entry) => entry.answer !== undefined)!
  assert.deepEqual(answer, { answers: [], failure: { reason: "error", error: "the agent has used up its 2 steps" } })
})

test("the sessions that a killed process has left are removed at the start, and no others", async (t) => {
  const { opencode, dispose } = await load(t)
  await until(() => opencode.isRead)
  await dispose!()
  opencode.stored.set("hidden/ses_dead", 2 ** 30).set("hidden/ses_old", process.pid).set("hidden/ses_alive", process.ppid).set("else", 1)
  const plugin = (await import("../../src/index.ts")).default
  const again = await plugin.setup(opencode.ctx)
  t.after(() => again?.())
  await until(() => opencode.removed.length === 2)
  assert.deepEqual([opencode.removed, [...opencode.stored.keys()]], [["ses_dead", "ses_old"], ["hidden/ses_alive", "else"]])
})

// The betas give a plugin a context without most of the members that a release has, and a later version may change the
// context again. Passes must still work.
test("without the members of a release, passes work with what there is", async (t) => {
  const trim = ({ session, event, tool }: PluginContext) => ({ session: { hook: session.hook, get: session.get }, event, tool }) as unknown as PluginContext
  const { opencode, received } = await load(t, { tools }, {}, trim)
  opencode.add("s", user("u1", "one"))
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ one"])
  await until(() => opencode.tools.has("ctx_reduce"))
  opencode.emit("session.step.started", { sessionID: "s", assistantMessageID: "a1", model: { providerID: "p", id: "m" } }, { location: undefined })
  const request = opencode.add("s", answer("a1", "ok", [{ id: "c1", output: "out" }]))
  const later = opencode.request("s")
  opencode.emit("session.step.ended", { sessionID: "s", assistantMessageID: "a1", finish: "tool-calls", tokens: { input: 7, output: 1, cache: { read: 0, write: 0 } } }, { location: undefined })
  assert.deepEqual([request, textOf(await later)], [undefined, ["§u1§ one", "§a1§ ok", "out"]])
  const [, second] = received("session/transform")
  const [a1] = second!.attachment as Array<{ info: { tokens: { input: number } } }>
  assert.equal(a1!.info.tokens.input, 7, "the pass has waited for the event")
})

test("without the stored messages, a revert and a lost event leave the known facts", async (t) => {
  const { opencode, received } = await load(t, {}, {}, ({ session: { hook, get }, event, tool }) => ({ session: { hook, get }, event, tool }) as unknown as PluginContext)
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
  opencode.emit("session.step.started", { sessionID: "s", assistantMessageID: "a1" })
  opencode.emit("session.step.ended", { sessionID: "s", assistantMessageID: "a1", finish: "stop", tokens: { input: 7, output: 1, cache: { read: 0, write: 0 } } })
  opencode.emit("session.revert.committed", { sessionID: "s" })
  await fake.until(() => received("session/event").length === 1)
  opencode.cut()
  await until(() => !opencode.isRead)
  opencode.add("s", answer("a1", "ok"), user("u2", "two"))
  await opencode.request("s")
  const [a1] = received("session/transform")[1]!.attachment as Array<{ info: { tokens: { input: number } } }>
  assert.equal(a1!.info.tokens?.input, 7)
})

test("with nothing but the hook, passes work", async (t) => {
  const { opencode } = await load(t, {}, {}, ({ session: { hook } }) => ({ session: { hook } }) as unknown as PluginContext)
  opencode.add("s", user("u1", "one"))
  assert.deepEqual(textOf(await opencode.request("s")), ["§u1§ one"])
})

test("an instance that is unloaded and loaded again sends the whole array, and loses nothing", async (t) => {
  const { opencode, dispose } = await load(t)
  opencode.add("s", user("u1", "one"), answer("a1", "ok"))
  const one = await opencode.request("s")
  await dispose!()
  await until(() => !opencode.isRead)
  const plugin = (await import("../../src/index.ts")).default
  const again = await plugin.setup(opencode.ctx)
  t.after(() => again?.())
  const two = await opencode.request("s")
  assert.deepEqual(textOf(two), textOf(one))
})
