import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { fake, load, pass, textOf, user } from "./fake-opencode.ts"

const model = { id: "m", providerID: "p" }
const prompt = "You are a coding agent."
const title = "You are a title generator. You output ONLY a thread title. Nothing else."
const works = { "session/system": { system: [prompt, "guidance"] } }
const failing = { errors: { "session/system": { code: -32603, message: "scripted" } } }
let sessions = 0

/**
 * Starts a session. For each request, OpenCode calls two hooks of the plugin. A test does the same with `messages` and
 * `system`.
 */
async function start(t: TestContext, session = `ses_sent_${++sessions}`) {
  const { hooks, received, opencode } = await load(t, { agents: [{ name: "hidden", description: "d", prompt: "p", tools: [] }] }, { results: works })
  const system = async (text = prompt, of = model) => {
    const output = { system: [text] }
    await hooks["experimental.chat.system.transform"]!({ sessionID: session, model: of }, output)
    return output.system
  }
  const messages = async (more = {}) => textOf(await pass(hooks, [user("u1", "one", more, session)]))[0]
  const follow = (script: Parameters<typeof fake.follow>[0] = {}) => fake.follow({ results: works, ...script })
  /** True if the newest session/transform says that the previous request was sent with the host's wire. */
  const isSent = () => received("session/transform").at(-1)!.params!.sent !== undefined
  return { session, hooks, opencode, system, messages, follow, isSent }
}

test("a request whose system prompt the host made has left with its wire", async (t) => {
  const { system, messages, isSent } = await start(t)
  await messages()
  assert.equal(isSent(), false)
  await system()
  await messages()
  assert.equal(isSent(), true)
})

test("a request that OpenCode makes without the system hook has left with its wire", async (t) => {
  const { messages, isSent } = await start(t)
  await messages()
  await messages()
  assert.equal(isSent(), true)
})

test("a request has left with its wire if its system prompt is the host's last answer to the same question, and not if the prompt lacks the host's part", async (t) => {
  const { system, messages, follow, isSent } = await start(t)
  await messages()
  follow(failing)
  assert.deepEqual(await system(), [prompt])
  await messages()
  assert.equal(isSent(), false)
  follow()
  await system()
  await messages()
  assert.equal(isSent(), true)
  follow(failing)
  assert.deepEqual(await system(), [prompt, "guidance"])
  await messages()
  assert.equal(isSent(), true)
  assert.deepEqual(await system("another question"), ["another question"])
  await messages()
  assert.equal(isSent(), false)
})

test("a system prompt that the host left unchanged stays unchanged while the host does not answer", async (t) => {
  const { system, messages, follow, isSent } = await start(t)
  follow({ results: {} })
  await messages()
  assert.deepEqual(await system(), [prompt])
  follow(failing)
  await messages()
  assert.deepEqual(await system(), [prompt])
  await messages()
  assert.equal(isSent(), true)
})

test("one failure among the attempts of a request is enough", async (t) => {
  const { system, messages, follow, isSent } = await start(t)
  follow(failing)
  await messages()
  await system("first attempt")
  follow()
  await system("first attempt")
  await messages()
  assert.equal(isSent(), false)
})

test("the request for a title, beside the first step, is not a request of the session", async (t) => {
  const { system, messages, follow, isSent } = await start(t)
  follow(failing)
  await system(title) // OpenCode calls the hook for the title's request before it calls the hook for the step
  follow()
  await messages()
  await system()
  follow(failing)
  await system(title)
  await system("Call it something.", { id: "small", providerID: "p" })
  await messages()
  assert.equal(isSent(), true)
  assert.deepEqual(await system(), [prompt, "guidance"], "what the host said last of the session's own prompt is still known")
})

test("OpenCode's request for a compaction is not a request of the session, with any prompt", async (t) => {
  const { session, hooks, system, messages, follow, isSent } = await start(t)
  await messages()
  await system()
  await hooks["experimental.session.compacting"]!({ sessionID: session }, {})
  await messages()
  follow(failing)
  await system("Compact this.")
  follow()
  await messages()
  assert.equal(isSent(), true)
  follow(failing)
  await system("the session's own again")
  follow()
  await messages()
  assert.equal(isSent(), false)
})

test("a hidden agent's request is not a request of the session", async (t) => {
  const { system, messages, follow, isSent } = await start(t)
  await messages()
  await system()
  follow(failing)
  await messages({ agent: "hidden" })
  await system("hidden")
  follow()
  await messages()
  assert.equal(isSent(), true)
})

test("a request that left without a pass left with no wire", async (t) => {
  const { opencode, system, messages, follow, isSent, session } = await start(t)
  await messages()
  await system()
  opencode.client.session.get = () => Promise.reject(new Error("scripted"))
  follow({ errors: { "session/transform": { code: -32603, message: "scripted" } } })
  await messages()
  follow()
  await messages()
  assert.equal(isSent(), false)
  await messages()
  assert.equal(isSent(), true)
  assert.ok(session)
})
