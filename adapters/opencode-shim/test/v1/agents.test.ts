import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { fake, load, user } from "./fake-opencode.ts"

const run = { session: "ses_1", agent: "magicctx-historian", title: "history 1-4", model: "p/m/1", system: "You summarise.", prompt: "Summarise.", tools: ["read"], timeoutMs: 60_000 }

const answer = (text: string, more: object = {}) => ({
  info: { id: "msg_2", role: "assistant", finish: "stop", tokens: { input: 7 }, ...more },
  parts: [{ type: "step-start" }, { type: "text", text }],
})
const prompt = { info: { id: "msg_1", role: "user" }, parts: [{ type: "text", text: "Summarise." }] }

let runs = 0

/** Loads the plugin. `ask` makes the host call a method of the plugin, and `runAgent` makes it run an agent. */
async function hosted(t: TestContext) {
  const loaded = await load(t, { hooks: ["session/event", "text/complete"] })
  const { hooks, directory } = loaded
  /** Lets the host call a method, and returns the shim's answer. */
  const ask = async (method: string, params: object) => {
    const session = `ses_ask${++runs}` // this id distinguishes the answers to concurrent calls
    const before = fake.entries().length
    fake.follow({ ask: { "session/system": [method, { directory, ...params }] } })
    await hooks["experimental.chat.system.transform"]!({ sessionID: session }, { system: [] })
    return fake.entries().slice(before).findLast((entry) => "answer" in entry)!.answer as any
  }
  return { ...loaded, ask, runAgent: (more: object = {}) => ask("agent/run", { ...run, run: `run_${++runs}`, ...more }) }
}

test("an agent answers in a child session, which is deleted", async (t) => {
  const { opencode, runAgent } = await hosted(t)
  const bodies: unknown[] = []
  opencode.answering = async (_, body, messages) => {
    bodies.push(body)
    assert.deepEqual(opencode.deleted, [])
    messages.push(prompt, answer("I look.", { finish: "tool-calls" }), answer("Done."))
    return {}
  }
  const { answers, failure } = await runAgent()
  assert.equal(failure, undefined)
  assert.deepEqual(
    answers.map(({ info, parts }: any) => [info.finish, info.tokens.input, parts]),
    [
      ["tool-calls", 7, [{ type: "text", text: "I look." }]],
      ["stop", 7, [{ type: "text", text: "Done." }]],
    ],
  )
  const [id, { parentID, title }] = [...opencode.children][0]!
  assert.equal(parentID, "ses_1")
  assert.equal(title, `magicctx: history 1-4 (process ${process.pid})`)
  assert.deepEqual(bodies, [
    {
      agent: "magicctx-historian",
      system: "You summarise.",
      tools: { "*": false, read: true },
      parts: [{ type: "text", text: "Summarise.", synthetic: true }],
      model: { providerID: "p", modelID: "m/1" },
    },
  ])
  assert.deepEqual(opencode.deleted, [id])
})

test("no hook touches the session of an agent, also before its id is known", async (t) => {
  const { opencode, hooks, runAgent } = await hosted(t)
  const title = `magicctx: history 1-4 (process ${process.pid})`
  const event = (type: string, properties: object) => hooks.event!({ event: { type, properties } as never })
  opencode.creating = (id) => event("session.created", { sessionID: id, info: { id, parentID: "ses_1", title } })
  let child = ""
  opencode.answering = async (id, _, messages) => {
    child = id
    await event("session.status", { sessionID: id, status: { type: "busy" } })
    await hooks["chat.message"]!({ sessionID: id }, { message: { id: "msg_1", time: { created: 1 } }, parts: [] })
    const array = [user("msg_1", "Summarise.", { agent: "magicctx-historian" }, id)]
    const before = JSON.stringify(array)
    await hooks["experimental.chat.messages.transform"]!({}, { messages: array })
    assert.equal(JSON.stringify(array), before)
    const system = ["You summarise."]
    await hooks["experimental.chat.system.transform"]!({ sessionID: id }, { system })
    assert.deepEqual(system, ["You summarise."])
    const text = { text: "§1§ Done." }
    await hooks["experimental.text.complete"]!({ sessionID: id }, text)
    assert.deepEqual(text.text, "§1§ Done.")
    messages.push(answer("Done."))
    return {}
  }
  await runAgent()
  await event("session.deleted", { sessionID: child, info: { id: child } })
  assert.deepEqual(fake.entries().filter(({ params }) => JSON.stringify(params ?? {}).includes(child)), [])
})

test("the answer of an agent is bounded, and that of a conversation is not", async (t) => {
  const { opencode, hooks, runAgent } = await hosted(t)
  const seen: object[] = []
  const request = async (sessionID: string, output: object) => {
    await hooks["chat.params"]!({ sessionID }, output)
    seen.push(output)
  }
  opencode.answering = async (id, _, messages) => {
    await request(id, { maxOutputTokens: 32_000, options: { thinking: { type: "enabled", budgetTokens: 16_000 }, effort: "low" } })
    await request(id, { maxOutputTokens: 500, options: { reasoningConfig: { budgetTokens: 16_000 } } })
    await request(id, { maxOutputTokens: undefined, options: {} })
    await request("ses_1", { maxOutputTokens: 32_000, options: { thinking: { budgetTokens: 16_000 } } })
    messages.push(answer("Done."))
    return {}
  }
  await runAgent({ maxOutput: 2_000 })
  assert.deepEqual(seen, [
    { maxOutputTokens: 2_000, options: { effort: "low" } },
    { maxOutputTokens: 500, options: {} },
    { maxOutputTokens: undefined, options: {} },
    { maxOutputTokens: 32_000, options: { thinking: { budgetTokens: 16_000 } } },
  ])
})

test("the error of an agent is OpenCode's own", async (t) => {
  const { opencode, hooks, runAgent } = await hosted(t)
  const error = { name: "APIError", data: { message: "no credit", statusCode: 403 } }
  opencode.answering = async (_, __, messages) => (messages.push(answer("", { error })), {})
  assert.deepEqual((await runAgent()).failure, { reason: "error", error })

  const unknown = { name: "UnknownError", data: { message: "Model not found: p/m. Did you mean: n?" } }
  opencode.answering = async (id) => {
    await hooks.event!({ event: { type: "session.error", properties: { sessionID: id, error: unknown } } })
    return { error: { name: "UnknownError", data: { message: "Unexpected server error." } } }
  }
  assert.deepEqual(await runAgent(), { answers: [], failure: { reason: "error", error: unknown } })

  opencode.answering = async () => ({ error: { name: "BadRequest" } })
  assert.deepEqual(await runAgent(), { answers: [], failure: { reason: "error", error: { name: "BadRequest" } } })
  opencode.client.session.create = async () => ({ error: { name: "NotFoundError" } })
  assert.deepEqual(await runAgent(), { answers: [], failure: { reason: "error", error: '{"name":"NotFoundError"}' } })
  assert.equal(opencode.deleted.length, 3, "a child session is deleted after a failure, too")
})

/** A turn that lasts until the plugin aborts it for the nth time. */
function lasting(opencode: Awaited<ReturnType<typeof load>>["opencode"], nth = 1) {
  opencode.answering = (id, _, messages) =>
    new Promise((resolve) => {
      let left = nth
      opencode.endOf.set(id, () => {
        if (--left > 0) return
        messages.push(answer("half", { finish: undefined, error: { name: "MessageAbortedError", data: {} } }))
        resolve({})
      })
    })
}

test("a run that the host ends is aborted in OpenCode, until its turn has ended", async (t) => {
  const { opencode, ask, runAgent } = await hosted(t)
  lasting(opencode, 2)
  const ended = runAgent({ run: "long" })
  await fake.until(() => opencode.children.size === 1)
  await ask("agent/abort", { run: "long" })
  await ended
  const { answers, failure } = fake.entries().findLast((entry) => (entry.answer as any)?.answers)!.answer as any
  assert.equal(failure.reason, "aborted")
  assert.equal(answers.length, 1, "the host learns what the run has used")
  const [id] = opencode.children.keys()
  assert.deepEqual(opencode.aborted, [id, id])
  assert.deepEqual(opencode.deleted, [id])
})

test("a run has a deadline", async (t) => {
  const { opencode, runAgent } = await hosted(t)
  lasting(opencode)
  assert.equal((await runAgent({ timeoutMs: 20 })).failure.reason, "timeout")
  assert.equal(opencode.deleted.length, 1)
})

test("a run whose host dies is aborted and its session deleted", async (t) => {
  const { opencode, hooks, runAgent } = await hosted(t)
  lasting(opencode)
  const lost = runAgent().catch(() => {})
  await fake.until(() => opencode.children.size === 1)
  fake.follow({ deadly: "session/transform" })
  const blow = hooks["experimental.chat.messages.transform"]!({}, { messages: [user("u1", "one", {}, "ses_other")] })
  while (opencode.deleted.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  fake.follow({})
  await Promise.all([blow, lost])
  assert.deepEqual(opencode.aborted, opencode.deleted)
})

test("an instance that is disposed ends its runs", async (t) => {
  const { opencode, hooks, runAgent } = await hosted(t)
  lasting(opencode)
  void runAgent().catch(() => {})
  await fake.until(() => opencode.children.size === 1)
  await hooks.dispose!()
  while (opencode.deleted.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
})

test("a run may keep its session, and uses the conversation's model if it names none", async (t) => {
  const { opencode, hooks, runAgent } = await hosted(t)
  await hooks["experimental.chat.messages.transform"]!({}, { messages: [user("u1", "one", { model: { providerID: "q", modelID: "n" } }, "ses_1")] })
  const models: unknown[] = []
  opencode.answering = async (_, { model }, messages) => (models.push(model), messages.push(answer("Done.")), {})
  await runAgent({ keep: true, model: undefined })
  assert.deepEqual(models, [{ providerID: "q", modelID: "n" }])
  assert.deepEqual(opencode.deleted, [])
})

test("the sessions that a killed process has left are removed at the start, and no others", async (t) => {
  const { opencode, hooks } = await load(t)
  const session = (id: string, title: string, parentID?: string, updated = Date.now()) => ({ id, title, ...(parentID && { parentID }), time: { updated } })
  const dead = 2 ** 31 - 1 // no operating system has processes with that number
  opencode.listed = [
    session("orphan", `magicctx: history (process ${dead})`, "ses_1"),
    session("ours", `magicctx: history (process ${process.pid})`, "ses_1"), // an earlier process had this process's id
    session("old", `magicctx: history (process ${process.ppid})`, "ses_1", Date.now() - 90_000_000),
    session("live", `magicctx: history (process ${process.ppid})`, "ses_1"),
    session("root", `magicctx: history (process ${dead})`),
    session("mine", "magicctx: my own notes", "ses_1"),
  ]
  await hooks.config!({})
  while (opencode.deleted.length < 3) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(opencode.deleted, ["orphan", "ours", "old"])
})

test("an agent that calls tools for ever ends after its last step", async (t) => {
  const { opencode, hooks, runAgent } = await hosted(t)
  const step = (id: string, n: number) => ({ info: { id: `msg_${n}`, sessionID: id, role: "assistant", finish: "tool-calls" }, parts: [] })
  let requests = 0
  opencode.answering = async (id, _, messages) => {
    const array: any[] = [user("msg_1", "Summarise.", { agent: "magicctx-historian" }, id)]
    for (; requests < 10 && !opencode.aborted.includes(id); requests++) {
      await hooks["experimental.chat.messages.transform"]!({}, { messages: array })
      array.push(step(id, requests + 2))
    }
    messages.push(...array.slice(1))
    return {}
  }
  const { failure } = await runAgent({ steps: 3 })
  assert.equal(requests, 4) // the fourth request was aborted before it was sent
  assert.deepEqual(failure, { reason: "error", error: "the agent has used up its 3 steps" })
})
