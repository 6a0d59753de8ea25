import assert from "node:assert/strict"
import { test } from "node:test"
import { fake, load, mockModel, user, type FakePi } from "./fake-pi.ts"

const parameters = { type: "object", properties: { query: { type: "string" } }, additionalProperties: false }
const tool = { name: "ctx_search", description: "Searches.", parameters }
const command = { name: "ctx-flush", description: "Shows." }

test("the host's tools are registered before the first prompt, once, and stay the same for the process", async (t) => {
  const { pi } = await load(t, { tools: [tool] })
  await pi.emit("session_start", { reason: "startup" })
  assert.deepEqual(pi.tools.map(({ name, description, parameters }) => ({ name, description, parameters })), [tool])
  fake.follow({ results: { initialize: { tools: [{ ...tool, description: "Searches better." }] } } })
  await pi.shutdown("reload")
  await pi.start("reload")
  assert.deepEqual(pi.tools.map(({ description }) => description), ["Searches."])
})

test("a tool runs in the host, and fails with the host's message", async (t) => {
  const { pi, received } = await load(t, { tools: [tool] }, { results: { "tool/execute": { output: "found" } } })
  const run = (args: object) => pi.tools[0]!.execute("call_1", args, new AbortController().signal, undefined, pi.context())
  assert.deepEqual(await run({ query: "x" }), { content: [{ type: "text", text: "found" }], details: undefined })
  assert.deepEqual(received("tool/execute")[0]!.params, { session: pi.session, directory: pi.cwd, tool: "ctx_search", callId: "call_1", args: { query: "x" } })
  fake.follow({ errors: { "tool/execute": { code: -32602, message: "query is missing" } } })
  await assert.rejects(run({}), /query is missing/)
})

test("an aborted tool is withdrawn from the host", async (t) => {
  const { pi, received } = await load(t, { tools: [tool] }, { silent: ["tool/execute"] })
  const abort = new AbortController()
  const run = pi.tools[0]!.execute("call_1", {}, abort.signal, undefined, pi.context())
  await fake.until(() => received("tool/execute").length === 1)
  const withdrawn = fake.received("$/cancelRequest").length
  abort.abort()
  await assert.rejects(run)
  await fake.until(() => fake.received("$/cancelRequest").length === withdrawn + 1)
})

test("a command shows its result, and without a screen it prints it beside Pi's output", async (t) => {
  const result = { title: "Status", message: "all well", variant: "success" }
  const { pi, received } = await load(t, { commands: [command] }, { results: { "command/execute": result } })
  assert.equal(pi.commands.get("ctx-flush")!.description, "Shows.")
  await pi.commands.get("ctx-flush")!.handler("now", pi.context())
  assert.deepEqual(received("command/execute")[0]!.params, { session: pi.session, directory: pi.cwd, command: "ctx-flush", arguments: "now" })
  assert.deepEqual(pi.notices, ["info: Status\nall well"])
  const written: string[] = []
  const write = process.stderr.write
  process.stderr.write = ((text: string) => written.push(text)) as never
  t.after(() => void (process.stderr.write = write))
  pi.hasUI = false
  await pi.commands.get("ctx-flush")!.handler("", pi.context())
  assert.deepEqual(written, ["Status\nall well\n"])
})

test("a command that fails shows the error", async (t) => {
  const { pi } = await load(t, { commands: [command] }, { errors: { "command/execute": { code: -32603, message: "database is locked" } } })
  await pi.commands.get("ctx-flush")!.handler("", pi.context())
  assert.deepEqual(pi.notices, ["error: /ctx-flush: database is locked"])
})

/** Makes the host call a method of the shim during a pass, and returns the shim's answer. */
async function ask(pi: FakePi, method: string, params: object): Promise<unknown> {
  fake.follow({ ask: { "session/transform": [method, { directory: pi.cwd, ...params }] } })
  await pi.pass([user("one")])
  return fake.entries().findLast((entry) => "answer" in entry)!.answer
}

test("the host learns a model's limits from Pi's catalogue", async (t) => {
  const { pi } = await load(t)
  const limits = { contextTokens: 200_000, outputTokens: 8192, price: { fresh: 3, write: 3.75, read: 0.3, output: 15 }, npm: "anthropic-messages" }
  assert.deepEqual(await ask(pi, "models/limits", { model: { provider: "p", id: "m" } }), limits)
  assert.deepEqual(await ask(pi, "models/limits", { model: { provider: "p", id: "unknown" } }), {})
})

// A virtual model of Pi 1.0 is not in the catalogue of its provider.
test("the model in use has limits even if the catalogue does not find it", async (t) => {
  const { pi } = await load(t)
  pi.model = { ...mockModel, id: "routed", api: "pi-virtual", contextWindow: 1000 }
  await pi.emit("session_start", { reason: "resume" })
  const answer = (await ask(pi, "models/limits", { model: { provider: "p", id: "routed" } })) as { contextTokens: number; npm: string }
  assert.deepEqual([answer.contextTokens, answer.npm], [1000, "pi-virtual"])
})

test("a notice of the host is shown", async (t) => {
  const { pi } = await load(t)
  await ask(pi, "notify/show", { message: "hello", variant: "success" })
  assert.deepEqual(pi.notices, ["info: hello"])
})

test("a page of a command is a dialog, and what the user chooses goes on, after a confirmation and a text", async (t) => {
  const page = { text: "12 memories", choices: [{ label: "1. old", command: "ctx-menu", arguments: "memory 1" }, { label: "Edit", command: "ctx-menu", arguments: "memory 1 edit", confirm: "Really?", ask: "The fact", value: "old" }] }
  const answer = { title: "Memories", message: "all in words", variant: "info", page }
  const { pi, received } = await load(t, { commands: [{ name: "ctx-menu", description: "Shows." }] }, { results: { "command/execute": answer } })
  const ran = async (...choices: string[]) => {
    const before = received("command/execute").length
    pi.choices = choices
    await pi.commands.get("ctx-menu")!.handler("", pi.context())
    return received("command/execute").slice(before).map(({ params }) => (params as { arguments: string }).arguments)
  }
  assert.deepEqual(await ran("1. ", "Edit", "yes", "new words"), ["", "memory 1", "memory 1 edit new words"])
  assert.deepEqual(pi.dialogs.slice(0, 4), [["Memories\n12 memories", "1. old", "Edit"], ["Memories\n12 memories", "1. old", "Edit"], ["Edit", "Really?"], ["The fact", "old"]])
  assert.deepEqual([await ran(), await ran("Edit", "no"), await ran("Edit", "yes")], [[""], [""], [""]], "the user may leave each dialog")
  assert.deepEqual(pi.notices, [])
  pi.hasUI = false
  const write = process.stderr.write
  process.stderr.write = (() => true) as never
  t.after(() => void (process.stderr.write = write))
  assert.deepEqual(await ran("1. "), [""], "without a screen, the words are enough")
})
