import assert from "node:assert/strict"
import { test } from "node:test"
import { withBreakpoint } from "../src/breakpoint.ts"
import { fake, load, textOf, user } from "./fake-pi.ts"

const passes = () => fake.received("session/transform").length

const text = (text: string) => ({ type: "text", text })
const message = (role: string, ...texts: string[]) => ({ role, content: texts.map(text) })
const step = (id: string, role: string, of: string) => ({ id, message: { ...message(role, of), timestamp: 0 } })
const head = [step("b", "user", "history"), step("a", "assistant", "I have read it."), step("d", "user", "nothing new")]

const long = { type: "ephemeral", ttl: "1h" }
const marked = (of: string, point: object = { type: "ephemeral" }) => ({ ...text(of), cache_control: point })

/** A request as Pi sends it to Anthropic's API. */
const request = (more: object = {}) => ({
  model: "m",
  system: [marked("You code.")],
  tools: [{ name: "read" }, { name: "bash", cache_control: { type: "ephemeral" } }],
  messages: [message("user", "history"), message("assistant", "I have read it."), message("user", "nothing new"), { role: "user", content: [marked("go")] }],
  ...more,
})

/** Returns the breakpoint of the acknowledgement. Asserts that nothing else has changed. */
function pointOf(payload: ReturnType<typeof request>): unknown {
  const before = structuredClone(payload)
  const changed = withBreakpoint(payload, head) as ReturnType<typeof request> | undefined
  assert.deepEqual(payload, before, "Pi's own object stays as it is")
  if (!changed) return undefined
  const { cache_control: point, ...block } = changed.messages[1]!.content[0] as ReturnType<typeof marked>
  assert.deepEqual({ ...changed, messages: changed.messages.with(1, { role: "assistant", content: [block] }) }, before)
  return point
}

test("the acknowledgement gets a breakpoint with the life of Pi's own", () => {
  assert.deepEqual(pointOf(request()), { type: "ephemeral" })
  assert.deepEqual(pointOf(request({ system: [marked("You code.", long)], tools: undefined })), long)
  assert.deepEqual(pointOf(request({ system: undefined, tools: [{ name: "read", cache_control: long }] })), long)
  assert.deepEqual(pointOf(request({ system: [text("You code.")], tools: [] })), { type: "ephemeral" }, "as on the newest message")
})

test("a baseline that Pi sends as a string is found, and so is one after a message of the system", () => {
  const { messages } = request()
  assert.ok(withBreakpoint(request({ messages: messages.with(0, { role: "user", content: "history" as never }) }), head))
  assert.ok(withBreakpoint(request({ messages: [{ role: "system", content: [] }, ...messages] }), head))
})

test("on Bedrock the breakpoint is a block after the acknowledgement", () => {
  const point = { cachePoint: { type: "default", ttl: "1h" } }
  const [baseline, acknowledgement, ...rest] = [
    { role: "user", content: [{ text: "history" }] },
    { role: "assistant", content: [{ text: "I have read it." }] },
    { role: "user", content: [{ text: "nothing new" }] },
    { role: "user", content: [{ text: "go" }, point] },
  ]
  const payload = { modelId: "m", system: [{ text: "You code." }, point], messages: [baseline, acknowledgement, ...rest] }
  assert.deepEqual(withBreakpoint(payload, head), { ...payload, messages: [baseline, { role: "assistant", content: [{ text: "I have read it." }, point] }, ...rest] })
})

test("a request that is not as expected stays as it is", () => {
  const { messages } = request()
  const [baseline, acknowledgement] = messages as [(typeof messages)[0], (typeof messages)[0]]
  const cases: Record<string, unknown> = {
    "four breakpoints": request({ system: [marked("You are"), marked("You code.")] }),
    "no breakpoint of Pi's": request({ system: [text("You code.")], tools: [], messages: messages.slice(0, 3) }),
    "no head": request({ messages: messages.slice(3) }),
    "another baseline": request({ messages: messages.with(0, message("user", "other history")) }),
    "a baseline with more content": request({ messages: messages.with(0, message("user", "history", "and more")) }),
    "a message in front of the head": request({ messages: [message("user", "hi"), ...messages] }),
    "another acknowledgement": request({ messages: messages.with(1, message("assistant", "Done.")) }),
    "two answers as one": request({ messages: messages.with(1, message("assistant", "I have read it.", "So:")) }),
    "an answer without content": request({ messages: [baseline, { ...acknowledgement, content: [] }] }),
    "an answer as a string": request({ messages: [baseline, { role: "assistant", content: "I have read it." }] }),
    "no messages": { model: "m", input: [] },
    nothing: undefined,
  }
  for (const [name, payload] of Object.entries(cases)) assert.equal(withBreakpoint(payload, head), undefined, name)
  for (const short of [[], head.slice(0, 1)]) assert.equal(withBreakpoint(request(), short), undefined)
})

test("the head that the host has sent is the one whose breakpoint is set, in its own session only", async (t) => {
  const { pi } = await load(t)
  fake.follow({ heads: { [passes() + 1]: { start: 1, head } } })
  const wire = await pi.pass([user("old"), user("go")])
  assert.deepEqual(textOf(wire).slice(0, 3), ["history", "I have read it.", "nothing new"])
  const finished = await pi.emit("before_provider_request", { payload: request() })
  assert.deepEqual(finished.messages[1], { role: "assistant", content: [marked("I have read it.")] })
  for (const garbage of [undefined, null, 7, { messages: [null] }]) assert.equal(await pi.emit("before_provider_request", { payload: garbage }), undefined)
  await pi.start("new", "another session")
  assert.equal(await pi.emit("before_provider_request", { payload: request() }), undefined)
})
