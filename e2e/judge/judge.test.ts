// Each rule must find a body that breaks it, and must not complain about a good body. docs/provider-rules.md must
// contain the source of each rule.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { type ConverterName, converters } from "./convert.ts"
import { type Evidence } from "./evidence.ts"
import { type Message, checkBody, judge, profiles, rulesOf } from "./judge.ts"

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any

const evidence = (more: Partial<Evidence> = {}): Evidence => ({ binds: false, proofs: new Map(), runs: [], ofCall: new Map(), ...more })
const user = (...content: Any[]): Any => ({ role: "user", content })
const assistant = (...content: Any[]): Any => ({ role: "assistant", content })
const text = (t: string): Any => ({ type: "text", text: t })
const call = (id: string, more: Any = {}): Any => ({ type: "tool_use", id, name: "read", input: {}, ...more })
const result = (id: string): Any => ({ type: "tool_result", tool_use_id: id, content: "out" })
const think = (t: string): Any => ({ type: "thinking", thinking: t, signature: `sig-${t}` })
const image = (type: string, data = "AAAA"): Any => ({ type: "image", source: { type: "base64", media_type: type, data } })
const hello = user(text("hello"))
const thinks = { thinking: { type: "enabled" } }
const signed = (...texts: string[]): Map<string, Set<string>> => new Map(texts.map((t) => [`sig-${t}`, new Set([t])]))

const call_ = (id: string, name = "read", args = "{}"): Any => ({ role: "assistant", content: "", tool_calls: [{ id, type: "function", function: { name, arguments: args } }] })
const answer_ = (id: string): Any => ({ role: "tool", tool_call_id: id, content: "out" })
const say_ = (content: Any): Any => ({ role: "user", content })

const model = (...parts: Any[]): Any => ({ role: "model", parts })
const person = (...parts: Any[]): Any => ({ role: "user", parts })
const gCall = (name: string, more: Any = {}): Any => ({ functionCall: { name, args: {} }, ...more })
const gResult = (name: string): Any => ({ functionResponse: { name, response: {} } })

const rCall = (id: string, more: Any = {}): Any => ({ type: "function_call", call_id: id, name: "read", arguments: "{}", ...more })
const rOut = (id: string): Any => ({ type: "function_call_output", call_id: id, output: "out" })
const reason = (t: string): Any => ({ type: "reasoning", encrypted_content: `sig-${t}`, summary: [{ type: "summary_text", text: t }] })

const bUser = (...content: Any[]): Any => ({ role: "user", content })
const bAssistant = (...content: Any[]): Any => ({ role: "assistant", content })

/**
 * Each row has a converter, a rule, a body that breaks this rule, and the evidence that the judge needs to find the
 * mistake.
 */
const broken: [ConverterName, string, Any, Partial<Evidence>?][] = [
  ["anthropic", "first-role", { messages: [assistant(text("so"))] }],
  ["anthropic", "last-role", { messages: [hello, assistant(text("so"))] }],
  ["anthropic", "content-empty", { messages: [hello, assistant(), hello] }],
  ["anthropic", "text-blank", { messages: [hello, assistant(text(" \n")), hello] }],
  ["anthropic", "call-pairs", { messages: [hello, assistant(call("c")), user(text("no result"))] }],
  ["anthropic", "call-pairs", { messages: [hello, assistant(text("no call")), user(result("c"))] }],
  ["anthropic", "call-pairs", { messages: [hello, assistant(call("c")), hello, user(result("c"))] }],
  ["anthropic", "result-twice", { messages: [hello, assistant(call("c")), user(result("c"), result("c"))] }],
  ["anthropic", "results-first", { messages: [hello, assistant(call("c")), user(text("before"), result("c"))] }],
  ["anthropic", "calls-last", { messages: [hello, assistant(call("c"), text("behind")), user(result("c"))] }],
  ["anthropic", "call-id-unique", { messages: [hello, assistant(call("c")), user(result("c")), assistant(call("c")), user(result("c"))] }],
  ["anthropic", "call-id", { messages: [hello, assistant(call("c.1")), user(result("c.1"))] }],
  ["anthropic", "tool-name", { messages: [hello, assistant(call("c", { name: "read it" })), user(result("c"))] }],
  ["anthropic", "input-object", { messages: [hello, assistant(call("c", { input: "{" })), user(result("c"))] }],
  ["anthropic", "thinking-first", { ...thinks, messages: [hello, assistant(text("so"), think("a"), call("c")), user(result("c"))] }],
  ["anthropic", "thinking-newest", { ...thinks, messages: [hello, assistant(call("c")), user(result("c"))] }, { ofCall: new Map([["c", ["sig-a"]]]) }],
  ["anthropic", "thinking-run", { messages: [hello, assistant(think("a"), text("so")), hello] }, { runs: [["sig-a", "sig-b"]] }],
  ["anthropic", "thinking-run", { messages: [hello, assistant(think("b"), think("a")), hello] }, { runs: [["sig-a", "sig-b"]] }],
  ["anthropic", "thinking-signature", { messages: [hello, assistant({ ...think("a"), thinking: "other" }, text("so")), hello] }, { proofs: signed("a") }],
  ["anthropic", "thinking-role", { messages: [user(think("a"))] }],
  ["anthropic", "image", { messages: [user(image("image/bmp"))] }],
  ["anthropic", "image", { messages: [user(image("image/png", ""))] }],
  ["anthropic", "image", { messages: [hello, assistant(image("image/png")), hello] }],
  ["anthropic", "breakpoints", { messages: Array.from({ length: 5 }, () => user({ ...text("x"), cache_control: { type: "ephemeral" } })) }],
  ["anthropic", "breakpoint-newest", { messages: [user({ ...text("x"), cache_control: { type: "ephemeral" } }), hello] }],
  ["anthropic", "breakpoint-marked", { messages: [hello, assistant(text("ack")), user({ ...text("x"), cache_control: { type: "ephemeral" } })] }, { marked: "ack" }],
  ["anthropic", "breakpoint-content", { messages: [user({ ...text(" "), cache_control: { type: "ephemeral" } })] }],
  ["anthropic", "end-space", { messages: [hello, assistant(text("so "))] }],
  ["anthropic", "block-known", { messages: [user({ type: "hologram" })] }],
  ["bedrock", "roles-alternate", { messages: [bUser({ text: "a" }), bUser({ text: "b" })] }],
  ["bedrock", "calls-last", { messages: [bUser({ text: "a" }), bAssistant({ toolUse: { toolUseId: "c", name: "read", input: {} } }, { text: "behind" }), bUser({ toolResult: { toolUseId: "c", content: [] } })] }],
  ["bedrock", "text-blank", { messages: [bUser({ text: "" })] }],
  ["bedrock", "call-id", { messages: [bUser({ text: "a" }), bAssistant({ toolUse: { toolUseId: "c".repeat(65), name: "read", input: {} } }), bUser({ toolResult: { toolUseId: "c".repeat(65), content: [] } })] }],
  ["bedrock", "breakpoint-newest", { messages: [bUser({ text: "a" }, { cachePoint: { type: "default" } }, { text: "b" })] }],
  ["bedrock", "breakpoint-marked", { messages: [bUser({ text: "a" }), bAssistant({ text: "ack" }, { text: "more" }, { cachePoint: { type: "default" } })] }, { marked: "ack" }],
  ["bedrock", "breakpoint-content", { messages: [bUser({ cachePoint: { type: "default" } })] }],
  ["openai-chat", "call-pairs", { messages: [say_("hi"), call_("c"), say_("no result")] }],
  ["openai-chat", "call-pairs", { messages: [say_("hi"), answer_("c")] }],
  ["openai-chat", "result-twice", { messages: [say_("hi"), call_("c"), answer_("c"), answer_("c")] }],
  ["openai-chat", "call-id-unique", { messages: [say_("hi"), { role: "assistant", tool_calls: [...call_("c").tool_calls, ...call_("c").tool_calls] }, answer_("c")] }],
  ["openai-chat", "call-id", { messages: [say_("hi"), call_("c".repeat(41)), answer_("c".repeat(41))] }],
  ["openai-chat", "tool-name", { messages: [say_("hi"), call_("c", "read it"), answer_("c")] }],
  ["openai-chat", "input-object", { messages: [say_("hi"), call_("c", "read", "{"), answer_("c")] }],
  ["openai-chat", "content-empty", { messages: [say_([])] }],
  ["openai-chat", "image", { messages: [say_([{ type: "image_url", image_url: { url: "data:image/bmp;base64,AA" } }])] }],
  ["openai-compatible", "answer-empty", { messages: [say_("hi"), { role: "assistant", content: " " }, say_("hi")] }],
  ["openai-compatible", "first-role", { messages: [call_("c"), answer_("c")] }],
  ["openai-compatible", "last-role", { messages: [say_("hi"), { role: "assistant", content: "so" }] }],
  ["mistral", "call-id", { messages: [say_("hi"), call_("call_1"), answer_("call_1")] }],
  ["mistral", "role-order", { messages: [say_("hi"), call_("aaaaaaaaa"), answer_("aaaaaaaaa"), say_("hi")] }],
  ["openai", "call-pairs", { input: [rCall("c")] }],
  ["openai", "call-pairs", { input: [rOut("c")] }],
  ["openai", "result-twice", { input: [rCall("c"), rOut("c"), rOut("c")] }],
  ["openai", "reasoning-followed", { input: [reason("a"), { role: "user", content: "hi" }] }, { proofs: signed("a") }],
  ["openai", "thinking-signature", { input: [reason("a"), rCall("c"), rOut("c")] }],
  ["openai", "reasoning-carried", { store: false, input: [{ type: "item_reference", id: "rs_1" }] }],
  ["openai", "thinking-newest", { input: [rCall("c"), rOut("c")] }, { ofCall: new Map([["c", ["sig-a"]]]) }],
  ["openai", "call-id", { input: [rCall("c".repeat(65)), rOut("c".repeat(65))] }],
  ["openai", "tool-name", { input: [rCall("c", { name: "read it" }), rOut("c")] }],
  ["openai", "input-object", { input: [rCall("c", { arguments: "{" }), rOut("c")] }],
  ["openai", "content-empty", { input: [{ role: "assistant", content: [{ type: "output_text", text: "" }] }] }],
  ["openai", "image", { input: [{ role: "assistant", content: [{ type: "input_image", image_url: "data:image/png;base64,AA" }] }] }],
  ["google", "first-role", { contents: [model({ text: "so" })] }],
  ["google", "last-role", { contents: [person({ text: "hi" }), model({ text: "so" })] }],
  ["google", "content-empty", { contents: [person({ text: "hi" }), model(), person({ text: "hi" })] }],
  ["google", "text-blank", { contents: [person({ text: "" })] }],
  ["google", "call-place", { contents: [person({ text: "hi" }), model({ text: "so" }), model(gCall("read")), person(gResult("read"))] }],
  ["google", "call-pairs", { contents: [person({ text: "hi" }), model(gCall("read"), gCall("read")), person(gResult("read"))] }],
  ["google", "call-pairs", { contents: [person(gResult("read"))] }],
  ["google", "call-signature", { contents: [person({ text: "hi" }), model(gCall("read"), gCall("read", { thoughtSignature: "sig-a" })), person(gResult("read"), gResult("read"))] }],
  ["google", "thinking-signature", { contents: [person({ text: "hi" }), model({ text: "x", thought: true, thoughtSignature: "sig-a" }), person({ text: "hi" })] }],
  ["google", "tool-name", { contents: [person({ text: "hi" }), model(gCall("1 read")), person(gResult("1 read"))] }],
  ["google", "input-object", { contents: [person({ text: "hi" }), model(gCall("read", { functionCall: { name: "read", args: "{" } })), person(gResult("read"))] }],
  ["google", "image", { contents: [person({ inlineData: { mimeType: "image/bmp", data: "AA" } })] }],
]

/** By converter: bodies that break no rule. */
const good: [ConverterName, Any, Partial<Evidence>][] = [
  [
    "anthropic",
    { ...thinks, system: [{ ...text("s"), cache_control: {} }], messages: [user(text("hi"), image("image/png")), assistant(think("a"), think("b"), text("so"), call("c"), call("d")), user(result("c"), result("d"), { ...text("and"), cache_control: {} })] },
    { proofs: signed("a", "b"), runs: [["sig-a", "sig-b"]], ofCall: new Map([["d", ["sig-a", "sig-b"]]]) },
  ],
  // The first request leaves out the thinking of a finished turn. The second leaves out the thinking of an unfinished
  // turn, which is allowed only if the model binds its thinking.
  ["anthropic", { ...thinks, messages: [hello, assistant(call("c")), user(result("c")), assistant(text("so")), hello] }, { ofCall: new Map([["c", ["sig-a"]]]) }],
  ["anthropic", { ...thinks, messages: [hello, assistant(call("c")), user(result("c"))] }, { binds: true, ofCall: new Map([["c", ["sig-a"]]]) }],
  ["openai-chat", { messages: [say_("hi"), { ...call_("c"), tool_calls: [...call_("c").tool_calls, ...call_("d").tool_calls] }, answer_("d"), answer_("c"), say_("go on")] }, {}],
  ["mistral", { messages: [say_("hi"), call_("aaaaaaaaa"), answer_("aaaaaaaaa"), { role: "assistant", content: "Done." }, say_("hi")] }, {}],
  ["openai", { store: false, input: [{ role: "user", content: "hi" }, reason("a"), rCall("c"), rCall("d"), rOut("d"), rOut("c")] }, { proofs: signed("a"), ofCall: new Map([["d", ["sig-a"]]]) }],
  ["google", { contents: [person({ text: "hi" }), model(gCall("read", { thoughtSignature: "sig-a" }), gCall("read")), person(gResult("read"), gResult("read"))] }, { proofs: signed("a") }],
]

describe("rules", () => {
  for (const [name, rule, body, more] of broken) {
    test(`${rule} of ${name} fires`, () => {
      assert.ok(checkBody(name, body, evidence(more)).some((f) => f.rule === rule))
    })
  }
  for (const [i, [name, body, more]] of good.entries()) {
    test(`nothing fires on body ${i} of ${name}`, () => assert.deepEqual(checkBody(name, body, evidence(more)), []))
  }
  test("each rule is shown to fire", () => {
    const shown = new Set(broken.map(([, rule]) => rule))
    const missing = Object.values(rulesOf).flatMap((rules) => Object.keys(rules).filter((rule) => !shown.has(rule)))
    assert.deepEqual(missing, [])
  })
  test("each rule is documented", () => {
    const doc = readFileSync(join(import.meta.dirname, "..", "..", "docs", "provider-rules.md"), "utf8")
    const rules = new Set(["convertible", ...Object.values(rulesOf).flatMap((r) => Object.keys(r))])
    assert.deepEqual([...rules].filter((rule) => !doc.includes(`| \`${rule}\` |`)), [])
    const documented = [...doc.slice(doc.indexOf("## Conversations")).matchAll(/^\| `([a-z-]+)` \|/gm)].map((m) => m[1])
    assert.deepEqual(documented.filter((rule) => !rules.has(rule ?? "")), [])
  })
})

/** A session with a prompt, an answer with two thinking blocks and a call, and an answer with another call. */
function session(provider: string): Message[] {
  const info = (id: string, role: string): Message["info"] => (role === "user" ? { id, role, model: { providerID: provider, modelID: "m" } } : { id, role, providerID: provider, modelID: "m" })
  const proof = (s: string): Any => ({ anthropic: { signature: `sig-${s}` } })
  const tool = (id: string): Any => ({ id: `p-${id}`, type: "tool", callID: id, tool: "read", state: { status: "completed", input: { f: id }, output: `out ${id}` } })
  return [
    { info: info("u1", "user"), parts: [{ id: "p1", type: "text", text: "hi" }] },
    {
      info: info("a1", "assistant"),
      parts: [{ type: "step-start" }, { id: "r1", type: "reasoning", text: "a", metadata: proof("a") }, { id: "t1", type: "text", text: "so" }, tool("call_0001")],
    },
    {
      info: info("a2", "assistant"),
      parts: [{ type: "step-start" }, { id: "r2", type: "reasoning", text: "b", metadata: proof("b") }, { id: "r3", type: "reasoning", text: "c", metadata: proof("c") }, tool("call_0002"), tool("call_0003")],
    },
  ]
}

const without = (array: Message[], ...ids: string[]): Message[] => array.map((m) => ({ ...m, parts: m.parts.filter((p) => !ids.includes(p.id ?? "")) }))

describe("judge", () => {
  for (const profile of profiles) {
    test(`finds nothing in an unchanged array for ${profile}`, async () => {
      assert.deepEqual(await judge({ raw: session("some"), wire: session("some"), profile }), [])
    })
  }
  test("finds signed thinking that stands after a text because the call between was dropped", async () => {
    const raw = session("some")
    for (const profile of ["anthropic", "vertex", "bedrock"]) {
      const found = await judge({ raw, wire: without(raw, "r1", "p-call_0001"), profile })
      assert.ok(found.some((v) => v.rule === "thinking-first"))
    }
  })
  test("finds a thinking block that was taken from between its neighbours", async () => {
    const raw = session("some")
    const found = await judge({ raw, wire: without(raw, "r3"), profile: "anthropic" })
    assert.deepEqual(found.map((v) => v.rule).sort(), ["thinking-newest", "thinking-run"])
  })
  test("does not ask a binding model's wire for thinking", async () => {
    const raw = session("some")
    assert.deepEqual(await judge({ raw, wire: without(raw, "r1", "r2", "r3"), profile: "anthropic", binds: true }), [])
  })
  test("excuses what the raw array breaks too", async () => {
    const raw = without(session("some"), "r2", "r3") // the model did not think in its newest step
    assert.deepEqual(await judge({ raw, wire: without(raw, "r1"), profile: "anthropic" }), [])
  })
  test("excuses a breakpoint on a blank text that the raw array has, too, and finds a blank text of the wire", async () => {
    const raw = session("some")
    const prompt = (id: string, text: string): Message => ({ info: { id, role: "user", model: { providerID: "some", modelID: "m" } }, parts: [{ id: `p-${id}`, type: "text", text }] })
    raw.splice(1, 0, prompt("u2", " "))
    raw.push(prompt("u3", "and"))
    // OpenCode sets breakpoints on the two newest messages. Here they are the blank prompt u2 and the next prompt u3.
    const wire = without(raw, "r1", "t1", "p-call_0001", "r2", "r3", "p-call_0002", "p-call_0003")
    assert.deepEqual(await judge({ raw, wire, profile: "anthropic" }), [])
    const found = await judge({ raw: without(raw, "p-u2"), wire, profile: "anthropic" })
    assert.deepEqual(found.map((v) => v.rule).sort(), ["breakpoint-content", "text-blank"])
  })
  test("finds calls of Gemini whose signature left with a sister", async () => {
    const raw = session("some")
    const found = await judge({ raw, wire: without(raw, "p-call_0002"), profile: "google" })
    assert.deepEqual(found.map((v) => v.rule), ["call-signature"])
  })
  test("finds turns of Gemini's model that touch", async () => {
    const raw = session("some")
    const found = await judge({ raw, wire: without(raw, "p-call_0001"), profile: "google" })
    assert.deepEqual(found.map((v) => v.rule), ["call-place"])
  })
  test("finds reasoning of OpenAI without what it led to", async () => {
    const raw = session("some")
    raw.push({ info: { id: "u2", role: "user", model: { providerID: "some", modelID: "m" } }, parts: [{ id: "p2", type: "text", text: "and" }] })
    const found = await judge({ raw, wire: without(raw, "p-call_0002", "p-call_0003"), profile: "openai" })
    assert.deepEqual(found.map((v) => v.rule), ["reasoning-followed", "reasoning-followed"])
  })
  test("every converter has rules and belongs to a profile", () => {
    assert.deepEqual(Object.keys(rulesOf).sort(), Object.keys(converters).sort())
  })
})
