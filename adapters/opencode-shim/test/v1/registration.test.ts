import assert from "node:assert/strict"
import { test } from "node:test"
import type { Config } from "../../src/v1/opencode.ts"
import { isRunOf } from "../../src/v1/commands.ts"
import { fake, load, pass, user } from "./fake-opencode.ts"

const parameters = { type: "object", properties: { query: { type: "string" } }, additionalProperties: false }
const tool = { name: "ctx_search", description: "Searches.", parameters }
const command = { name: "ctx-status", description: "Shows." }

test("a tool of the host reaches the model with its schema unchanged", async (t) => {
  const { hooks } = await load(t, { tools: [tool] })
  assert.deepEqual(Object.keys(hooks.tool!), ["ctx_search"])
  assert.deepEqual(hooks.tool!.ctx_search!.args, {})
  const ours: { description: string; jsonSchema?: unknown } = { description: "", jsonSchema: {} }
  await hooks["tool.definition"]!({ toolID: "ctx_search" }, ours)
  assert.deepEqual(ours, { description: "Searches.", jsonSchema: parameters })
  const theirs = { description: "Runs." }
  await hooks["tool.definition"]!({ toolID: "bash" }, theirs)
  assert.deepEqual(theirs, { description: "Runs." })
})

test("a tool runs in the host, and fails with the host's message", async (t) => {
  const { hooks, received, directory } = await load(t, { tools: [tool] }, { results: { "tool/execute": { output: "found" } } })
  const context = { sessionID: "ses_1", callID: "call_1", abort: new AbortController().signal }
  assert.deepEqual(await hooks.tool!.ctx_search!.execute({ query: "x" }, context), { output: "found" })
  assert.deepEqual(received("tool/execute")[0]!.params, { session: "ses_1", directory, tool: "ctx_search", callId: "call_1", args: { query: "x" } })
  fake.follow({ errors: { "tool/execute": { code: -32602, message: "query is missing" } } })
  await assert.rejects(hooks.tool!.ctx_search!.execute({}, context), /query is missing/)
})

test("an aborted tool is withdrawn from the host", async (t) => {
  const { hooks, received } = await load(t, { tools: [tool] }, { silent: ["tool/execute"] })
  const abort = new AbortController()
  const run = hooks.tool!.ctx_search!.execute({}, { sessionID: "ses_1", abort: abort.signal })
  await fake.until(() => received("tool/execute").length === 1)
  const withdrawn = fake.received("$/cancelRequest").length
  abort.abort()
  await assert.rejects(run)
  await fake.until(() => fake.received("$/cancelRequest").length === withdrawn + 1)
})

test("commands and hidden agents are registered beside the user's own", async (t) => {
  const agents = [{ name: "historian", description: "Summarises.", prompt: "Summarise.", model: "p/m", tools: ["read"], steps: 3 }]
  const { hooks } = await load(t, { commands: [command], agents })
  const config: Config = { agent: { mine: { mode: "all" } } }
  await hooks.config!(config)
  assert.deepEqual(config, {
    agent: {
      mine: { mode: "all" },
      historian: {
        mode: "primary",
        hidden: true,
        description: "Summarises.",
        prompt: "Summarise.",
        model: "p/m",
        steps: 4,
        maxSteps: 4,
        permission: { "*": "deny", read: "allow" },
      },
    },
    command: { "ctx-status": { description: "Shows.", template: "$ARGUMENTS" } },
  })
  const historian = config.agent!.historian as { permission: object }
  assert.deepEqual(Object.keys(historian.permission), ["*", "read"], "the last matching rule wins")
})

test("a command shows its result and ends without a turn", async (t) => {
  const result = { title: "Status", message: "all well", variant: "success" }
  const { hooks, opencode, received, directory } = await load(t, { commands: [command] }, { results: { "command/execute": result } })
  const run = (name: string) => hooks["command.execute.before"]!({ command: name, sessionID: "ses_1", arguments: "now" }, { parts: [] })
  await assert.rejects(run("ctx-status"), { name: "MagicctxCommandDone" })
  assert.deepEqual(opencode.toasts, [{ ...result, duration: 6_000 }])
  assert.deepEqual(received("command/execute")[0]!.params, { session: "ses_1", directory, command: "ctx-status", arguments: "now" })
  await run("init") // this command belongs to another plugin
  assert.equal(opencode.toasts.length, 1)
})

// OpenCode makes a title only while the session has a single user message. If the answer to a command became a second
// user message, the session would never get a title (K28 in docs/defects.md).
test("an answer becomes no message as long as OpenCode has to make the session's title", async (t) => {
  const result = { title: "magicctx", message: "Context: 45%", variant: "info", stays: true }
  const { hooks, opencode } = await load(t, { commands: [command] }, { results: { "command/execute": result } })
  opencode.titles = { ses_new: "New session - 2026-11-26T16:00:00.000Z", ses_child: "Child session - 2026-11-26T16:00:00.000Z", ses_named: "New session - or not" }
  for (const [session, isStored] of [["ses_new", false], ["ses_child", false], ["ses_named", true]] as const) {
    const stored = opencode.prompts.length
    await assert.rejects(hooks["command.execute.before"]!({ command: "ctx-status", sessionID: session, arguments: "" }, { parts: [] }), { name: "MagicctxCommandDone" })
    assert.deepEqual([opencode.prompts.length - stored, opencode.toasts.length], isStored ? [1, 0] : [0, 1], session)
    opencode.toasts.length = 0
  }
})

test("an answer that stays becomes a message that the model does not receive, and keeps the conversation's model", async (t) => {
  const result = { title: "magicctx", message: "Context: 45%", variant: "info", stays: true }
  const { hooks, opencode } = await load(t, { commands: [command] }, { results: { "command/execute": result } })
  await pass(hooks, [user("u1", "one", { agent: "plan", model: { providerID: "p", modelID: "m", variant: "high" } }, "ses_1")])
  const run = () => hooks["command.execute.before"]!({ command: "ctx-status", sessionID: "ses_1", arguments: "" }, { parts: [] })
  await assert.rejects(run(), { name: "MagicctxCommandDone" })
  const parts = [{ type: "text", text: "magicctx\nContext: 45%", ignored: true }]
  assert.deepEqual(opencode.prompts, [{ id: "ses_1", body: { noReply: true, parts, agent: "plan", model: { providerID: "p", modelID: "m" }, variant: "high" } }])
  assert.deepEqual(opencode.toasts, [])

  await hooks.event!({ event: { type: "session.status", properties: { sessionID: "ses_1", status: { type: "busy" } } } })
  await assert.rejects(run(), { name: "MagicctxCommandDone" })
  assert.equal(opencode.prompts.length, 1, "a message during a turn would make OpenCode call the model once more")
  assert.equal(opencode.toasts.length, 1)
})

test("only a process that was started to run the command prints its result and ends", () => {
  const opencode = (...args: string[]) => ["bun", "/opencode", ...args]
  for (const [argv, expected] of [
    [opencode("run", "--command", "ctx-status"), true],
    [opencode("run", "--session", "ses_1", "--command=ctx-status", "now"), true],
    [opencode("run", "--command", "ctx-flush"), false],
    [opencode("run", "please run ctx-status"), false],
    [opencode("run", "--interactive", "--command", "ctx-status"), false],
    [opencode("serve"), false],
    [opencode("/project", "--command", "ctx-status"), false],
    [opencode(), false],
  ] as const) {
    assert.equal(isRunOf(argv, "ctx-status"), expected, argv.join(" "))
  }
})

test("a command that fails shows the error and still ends without a turn", async (t) => {
  const { hooks, opencode } = await load(t, { commands: [command] }, { errors: { "command/execute": { code: -32603, message: "database is locked" } } })
  await assert.rejects(hooks["command.execute.before"]!({ command: "ctx-status", sessionID: "ses_1", arguments: "" }, { parts: [] }), { name: "MagicctxCommandFailed" })
  assert.deepEqual(opencode.toasts, [{ message: "/ctx-status: database is locked", variant: "error", duration: 6_000 }])
})

test("the host learns a model's limits from OpenCode's catalogue", async (t) => {
  const { hooks, opencode, directory } = await load(t)
  const limit = { context: 200000, output: 8192 }
  const cost = { input: 3, output: 15, cache: { read: 0.3, write: 3.75 } }
  opencode.providers = [{ id: "p", models: { m: { limit, cost, api: { npm: "@ai-sdk/anthropic" } } } }]
  const ask = (id: string) => fake.follow({ ask: { "session/system": ["models/limits", { directory, model: { provider: "p", id } }] } })
  const answer = async () => {
    await hooks["experimental.chat.system.transform"]!({ sessionID: "ses_1" }, { system: [] })
    return fake.entries().findLast((entry) => "answer" in entry)!.answer
  }
  ask("m")
  assert.deepEqual(await answer(), {
    contextTokens: 200000,
    inputTokens: 0,
    outputTokens: 8192,
    price: { fresh: 3, write: 3.75, read: 0.3, output: 15 },
    npm: "@ai-sdk/anthropic",
  })
  ask("unknown")
  assert.deepEqual(await answer(), {})
})
