// Checks each row of docs/pi.md about requests, and a wire of Pi that its provider would refuse.
import assert from "node:assert/strict"
import { test } from "node:test"
import { type Message, judge } from "./judge.ts"
import { type Step, convertPi } from "./pi.ts"

const user = (content: unknown, more: object = {}): Step => ({ id: "u", message: { role: "user", content, provider: "anthropic", model: "m", ...more } }) as Step
const answer = (content: object[], results?: object[], more: object = {}): Step =>
  ({ id: "a", message: { role: "assistant", content, provider: "anthropic", model: "m", stopReason: "stop", ...more }, ...(results ? { results } : {}) }) as Step
const text = (t: string): object => ({ type: "text", text: t })
const call = (id: string): object => ({ type: "toolCall", id, name: "read", arguments: { path: "a" } })
const result = (id: string, ...content: object[]): object => ({ role: "toolResult", toolCallId: id, content, isError: false })
const think = (t: string): object => ({ type: "thinking", thinking: t, thinkingSignature: `sig-${t}` })

const convert = (...steps: Step[]): unknown => convertPi("anthropic", steps, [user("asks")]).messages

test("a step becomes an answer and one message with all results", () => {
  assert.deepEqual(convert(user("hi"), answer([think("a"), text(" "), text("so"), call("c"), call("d")], [result("c", text("1"), text("2")), result("d", text(""))])), [
    { role: "user", content: [{ type: "text", text: "hi" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "a", signature: "sig-a" },
        { type: "text", text: "so" },
        { type: "tool_use", id: "c", name: "read", input: { path: "a" } },
        { type: "tool_use", id: "d", name: "read", input: { path: "a" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "c", is_error: false, content: "1\n2" },
        { type: "tool_result", tool_use_id: "d", is_error: false, content: "" },
      ],
    },
  ])
})

test("what Pi leaves out or adds", () => {
  const failed = answer([text("half"), call("x")], [result("x", text("1"))], { stopReason: "aborted" })
  const vanished: Step = { id: "a" }
  const command = { id: "b", message: { role: "bashExecution", command: "ls", output: "a.go" } } as Step
  const secret = { id: "b", message: { role: "bashExecution", command: "ls", output: "a.go", excludeFromContext: true } } as Step
  const foreign = answer([think("theirs"), { type: "thinking", thinking: "-", thinkingSignature: "d", redacted: true }, call("c")], undefined, { model: "other" })
  assert.deepEqual(convert(user("hi"), failed, vanished, secret, command, foreign, user(" ")), [
    { role: "user", content: [{ type: "text", text: "hi" }, { type: "text", text: "Ran `ls`\n```\na.go\n```" }] },
    { role: "assistant", content: [{ type: "text", text: "theirs" }, { type: "tool_use", id: "c", name: "read", input: { path: "a" } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c", is_error: true, content: "No result provided" }] },
  ])
})

test("in OpenCode 2, a prompt after a call that the provider has run begins a new turn", async () => {
  const proof = { providerMetadata: { anthropic: { signature: "sig" } } }
  const search = [{ type: "tool-call", id: "c", name: "web_search", input: { q: "x" }, providerExecuted: true }, { type: "tool-result", id: "c", result: { type: "json", value: ["y"] }, providerExecuted: true }]
  const steps = (content: object[]): Message[] =>
    [{ role: "user", content: [text("hi")] }, { role: "assistant", content }, { role: "user", content: [text("on")] }].map((message, i) => ({ id: `m${i}`, info: { asked: { provider: "anthropic", model: "m" } }, message })) as unknown as Message[]
  const raw = steps([{ type: "reasoning", text: "hm", ...proof }, text("so"), ...search])
  assert.deepEqual(await judge({ raw, wire: steps([text("so"), ...search]), profile: "anthropic", harness: "opencode2" }), [])
})

test("a wire that drops a call and keeps its result is refused by each provider", async () => {
  const raw = [user("hi"), answer([text("so"), call("c")], [result("c", text("1"))], { stopReason: "toolUse" })]
  const wire = [user("hi"), answer([text("so")], [result("c", text("1"))], { stopReason: "toolUse" })]
  for (const profile of ["anthropic", "vertex", "openai", "openai-chat", "openai-compatible", "copilot"]) {
    const c = { raw: raw as unknown as Message[], wire: wire as unknown as Message[], profile, harness: "pi" as const }
    assert.deepEqual([...new Set((await judge(c)).map((v) => v.rule))], ["call-pairs"], profile)
    assert.deepEqual(await judge({ ...c, wire: c.raw }), [], profile)
  }
})
