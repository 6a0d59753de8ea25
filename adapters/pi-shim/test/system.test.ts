import assert from "node:assert/strict"
import { test } from "node:test"
import type { Message } from "../src/pi.ts"
import { fake, load, user, type FakePi } from "./fake-pi.ts"

const answers = { results: { "session/system": { system: ["prompt", "guidance"] } } }

/** A system message as Pi 0.87 makes it: the base prompt, and sections that follow. */
const head = (): Message => ({ role: "system", content: "", sections: { preamble: "You code.", gone: null, cwd: "<cwd>" }, toolsAdded: [{ name: "read" }], timestamp: 3 }) as Message

/** The system prompts that the shim has sent to the host in this session. */
const asked = (received: (method: string) => Array<{ params?: Record<string, unknown> }>) => received("session/system").map(({ params }) => (params!.system as string[])[0])

async function request(pi: FakePi, messages: Message[] = [head(), user("one")]): Promise<Message[]> {
  await pi.pass(messages.slice(1))
  const result = (await pi.emit("context_with_system", { messages })) as { messages: Message[] } | undefined
  return result?.messages ?? messages
}

test("each request carries the host's prompt, and keeps its tools", async (t) => {
  const { pi, received } = await load(t, {}, answers)
  const options = {}
  assert.equal(await pi.emit("before_agent_start", { systemPrompt: "You code.", systemPromptOptions: options }), undefined)
  const wire = await request(pi)
  assert.deepEqual(wire[0], { role: "system", content: "prompt\n\nguidance", toolsAdded: [{ name: "read" }], timestamp: 3 })
  assert.deepEqual((await request(pi, [head(), user("one"), user("two")]))[0], wire[0])
  assert.deepEqual(received("session/system").map(({ params }) => params), [{ session: pi.session, directory: pi.cwd, model: { provider: "p", id: "m" }, system: [pi.systemPrompt] }])
  assert.deepEqual(options, {})
})

test("the host knows a run's prompt before its first pass", async (t) => {
  const { pi } = await load(t, {}, answers)
  const before = fake.entries().length
  await request(pi)
  assert.deepEqual(fake.story().slice(before).filter((method) => method.startsWith("session/s") || method.startsWith("session/t")).slice(-2), ["session/system", "session/transform"])
})

// Before 1.0, Pi sends no before_agent_start if a message of an extension starts the run. If the shim set the system
// prompt only in this event, such a run would lack it.
test("a run that a message of an extension starts has the same prompt", async (t) => {
  const { pi } = await load(t, {}, answers)
  await pi.emit("before_agent_start", { systemPrompt: "You code.", systemPromptOptions: {} })
  const first = await request(pi)
  await pi.emit("agent_settled")
  assert.deepEqual((await request(pi))[0], first[0])
})

test("a prompt that Pi changes in the middle of a run is asked about anew", async (t) => {
  const { pi, received } = await load(t, {}, answers)
  await request(pi)
  pi.systemPrompt = "You code with another tool."
  await request(pi)
  assert.deepEqual(asked(received), ["You code.\n\n<cwd>", "You code with another tool."])
})

// If an extension forces a system prompt, Pi puts it into the system message only after all extensions have run. So the
// shim must show the forced prompt to the host, and force the host's answer in its place.
test("a prompt that another extension forces is the one that the host adds to", async (t) => {
  const { pi, received } = await load(t, {}, answers)
  const options: { forceSystemPrompt?: string } = {}
  await pi.emit("before_agent_start", { systemPrompt: "You code.", systemPromptOptions: options })
  options.forceSystemPrompt = pi.systemPrompt = "You are a pirate."
  await request(pi)
  assert.equal(options.forceSystemPrompt, "prompt\n\nguidance")
  pi.systemPrompt = options.forceSystemPrompt
  await request(pi)
  assert.deepEqual(asked(received), ["You are a pirate."], "the host's own words are not shown to it")
})

test("before 0.87 a prompt is set for the whole run", async (t) => {
  const { pi, received } = await load(t, {}, answers, (pi) => (pi.isNew = false))
  const result = await pi.emit("before_agent_start", { systemPrompt: "You code.\nCurrent date: 2026-01-01", systemPromptOptions: {} })
  assert.deepEqual(result, { systemPrompt: "prompt\n\nguidance" })
  await pi.pass([user("one", 1)])
  await pi.pass([user("one", 1), user("two", 2)])
  assert.deepEqual(asked(received), ["You code.\nCurrent date: 2026-01-01"])
  assert.deepEqual(received("session/transform").map(({ params }) => typeof params!.sent), ["undefined", "string"])
})

test("a prompt that the host leaves unchanged stays as it is", async (t) => {
  const { pi, received } = await load(t)
  const messages = [head(), user("one", 1)]
  assert.equal(await request(pi, messages), messages)
  await request(pi, [...messages, user("two", 2)])
  assert.deepEqual(received("session/transform").map(({ params }) => typeof params!.sent), ["undefined", "string"])
})

test("without an answer the last one to the same question stays in effect", async (t) => {
  const { pi } = await load(t, {}, answers)
  const first = await request(pi)
  await pi.emit("agent_settled")
  fake.follow({ errors: { "session/system": { code: -32603, message: "scripted" } } })
  assert.deepEqual((await request(pi))[0], first[0])
  pi.systemPrompt = "Another prompt"
  const other = [head(), user("one")]
  assert.equal(await request(pi, other), other)
})

// A fixed bug: the host did not answer, so the shim repeated an earlier system prompt. The shim then reported this
// request as sent without the host's wire, and so the thinking of the whole run was lost.
test("a prompt that was repeated for lack of an answer is asked about again by the next pass", async (t) => {
  const { pi, received } = await load(t, {}, answers)
  await request(pi)
  await pi.emit("agent_settled")
  fake.follow({ errors: { "session/system": { code: -32603, message: "scripted" } } })
  const repeated = await request(pi)
  fake.follow(answers)
  assert.deepEqual((await request(pi))[0], repeated[0])
  await request(pi)
  assert.equal(asked(received).length, 3)
})

test("a request whose prompt lacks the host's part did not leave with its wire", async (t) => {
  const { pi, received } = await load(t, {}, { errors: { "session/system": { code: -32603, message: "scripted" } } })
  await request(pi, [head(), user("one", 1)])
  await request(pi, [head(), user("one", 1), user("two", 2)])
  assert.deepEqual(received("session/transform").map(({ params }) => params!.sent), [undefined, undefined])
})
