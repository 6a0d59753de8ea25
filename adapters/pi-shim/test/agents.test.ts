import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { after, test } from "node:test"
import type { AgentRunResult } from "@magicctx/shim-core"
import { lines, runAgent } from "../src/agents.ts"
import { mockModel } from "./fake-pi.ts"
import type { Open } from "../src/pi.ts"

declare const repository: string // defined by the test runner

// A hidden agent runs as `node process.argv[1]`, so it runs this fake agent.
process.argv[1] = join(repository, "adapters", "pi-shim", "test", "fake-agent.mjs")
const dir = realpathSync(mkdtempSync(join(tmpdir(), "magicctx-agents-")))
after(() => rmSync(dir, { recursive: true, force: true }))

const open = { ctx: { model: mockModel, modelRegistry: { find: (provider: string, id: string) => (provider === "p" && id.startsWith("m") ? mockModel : undefined) } } } as unknown as Open

const params = { directory: dir, session: "s", run: "r", agent: "magicctx-historian", title: "t", model: "p/m/1", system: "You summarise.", tools: ["read", "grep"], timeoutMs: 1 }

function run(steps: unknown, more: object = {}, signal = new AbortController().signal): Promise<AgentRunResult> {
  return runAgent(open, { ...params, prompt: typeof steps === "string" ? steps : JSON.stringify(steps), ...more }, signal)
}

const text = (text: string) => ({ content: [{ type: "text", text }] })
const textsOf = ({ answers }: AgentRunResult) => answers.map((one: any) => one.message.content.map(({ text }: { text: string }) => text).join())

test("an agent is a process of Pi of its own, without the user's session, extensions and instructions", async () => {
  const log = join(dir, "log.json")
  const { answers, failure } = await run([{ log }, { answer: { ...text("Done."), content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "Done." }] } }])
  assert.equal(failure, undefined)
  const message = { role: "assistant", provider: "p", model: "m", stopReason: "stop", usage: { input: 7 }, timestamp: 1, content: [{ type: "text", text: "Done." }] }
  assert.deepEqual(JSON.parse(JSON.stringify(answers)), [{ message }])
  const { args, cwd, MAGICCTX_SUBAGENT, system, mode, file } = JSON.parse(readFileSync(log, "utf8"))
  assert.deepEqual(args, [
    ...["--print", "--mode", "json", "--no-session", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files"],
    ...["--tools", "read,grep", "--system-prompt", file, "--thinking", "off", "--model", "p/m/1"],
  ])
  assert.deepEqual([cwd, MAGICCTX_SUBAGENT, system], [dir, "1", "You summarise."])
  if (process.platform !== "win32") assert.equal(mode, 0o600)
  assert.ok(!existsSync(file), "the file of the system prompt is removed")
})

test("an agent without tools and without a model has none, and the session's model", async () => {
  const log = join(dir, "plain.json")
  await run([{ log }, { answer: text("Done.") }], { tools: [], model: undefined })
  const { args } = JSON.parse(readFileSync(log, "utf8"))
  assert.ok(args.includes("--no-tools") && !args.includes("--tools"))
  assert.equal(args.at(-1), "p/m")
})

test("the answer of an agent is bounded by an extension of its own", async () => {
  const log = join(dir, "bound.json")
  await run([{ log }, { answer: text("Done.") }], { maxOutput: 900 })
  const { extension } = JSON.parse(readFileSync(log, "utf8"))
  const file = join(dir, "bound.mjs")
  writeFileSync(file, extension)
  const bound = (await import(file)) as { default: (pi: object) => void }
  let onContext = (_: object, ctx: object) => assert.fail(JSON.stringify(ctx))
  bound.default({ on: (event: string, handler: typeof onContext) => event === "context" && (onContext = handler) })
  for (const [maxTokens, want] of [
    [32_000, 900],
    [500, 500],
    [0, 900],
  ]) {
    const model = { maxTokens }
    assert.equal(onContext({}, { model }), undefined)
    assert.equal(model.maxTokens, want)
  }
})

test("a large prompt arrives whole", async () => {
  const words = "ü".repeat(1 << 19)
  assert.deepEqual(textsOf(await run([{ answer: text(String(words.length)) }, { unused: words }])), [String(words.length)])
})

test("output that is no event does not matter", async () => {
  const garbage = ["garbage\n", "{\n", "null\n", "[1]\n", '"text"\n', '{"type":"message_end"}\n', '{"type":"message_end","message":{"role":"assistant"}}\n', "\u0000\n\n", '{"type":"message_end","message":{"role":"user"}}\n']
  const result = await run([...garbage.map((print) => ({ print })), { answer: text("Done.") }, { print: "{half a line" }])
  assert.equal(textsOf(result).at(-1), "Done.")
  assert.equal(result.failure, undefined)
})

test("a process that only prints garbage has failed", async () => {
  assert.deepEqual(await run([{ print: "garbage\n" }]), { answers: [], failure: { reason: "error", error: "Pi ended with code 0" } })
})

test("the reason for a failed start is the error output, bounded", async () => {
  assert.deepEqual((await run([{ complain: `${"x".repeat(5000)}No API key found.\n` }, { exit: 1 }])).failure!.error, `${"x".repeat(1982)}No API key found.`)
  const gone = await run([], { directory: join(dir, "gone") })
  assert.match(String(gone.failure!.error), /ENOENT|gone/)
})

test("the last answer counts, and its error is the run's", async () => {
  const retried = await run([{ answer: { stopReason: "error", errorMessage: "529 overloaded" } }, { answer: text("Done.") }])
  assert.deepEqual([textsOf(retried).at(-1), retried.failure], ["Done.", undefined])
  const failed = await run([{ answer: text("half") }, { answer: { stopReason: "error", errorMessage: "403 no credit" } }])
  assert.deepEqual(failed.failure, { reason: "error", error: "403 no credit" })
})

test("a model that Pi does not have is not tried", async () => {
  const { failure } = await run([{ answer: text("no") }], { model: "q/n/1" })
  assert.deepEqual(failure, { reason: "error", error: { name: "ProviderModelNotFoundError", data: { providerID: "q", modelID: "n/1" } } })
})

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test("an aborted run ends with its whole process group, even if the process does not want to", async () => {
  const tool = join(dir, "tool")
  const stop = new AbortController()
  const ended = run([{ answer: text("half") }, { tool }, { deaf: true }, { wait: 60_000 }], {}, stop.signal)
  while (!existsSync(tool) || !readFileSync(tool, "utf8")) await new Promise((resolve) => setTimeout(resolve, 5))
  stop.abort()
  const result = await ended
  assert.deepEqual([textsOf(result), result.failure?.error], [["half"], "aborted"])
  while (isAlive(Number(readFileSync(tool, "utf8")))) await new Promise((resolve) => setTimeout(resolve, 5))
})

test("a run that is aborted before it begins asks no model", async () => {
  const stop = new AbortController()
  stop.abort()
  const result = await run([{ wait: 60_000 }], {}, stop.signal)
  assert.deepEqual([result.answers, result.failure?.error], [[], "aborted"])
})

test("a process that does not end after its last event is ended", async () => {
  const result = await run([{ answer: text("Done.") }, { print: '{"type":"agent_end"}\n' }, { wait: 60_000 }])
  assert.deepEqual([textsOf(result), result.failure], [["Done."], undefined])
})

test("the steps of an agent are bounded", async () => {
  const step = { answer: { ...text("I look."), stopReason: "toolUse" } }
  const result = await run([step, { wait: 20 }, step, { wait: 60_000 }], { steps: 2 })
  assert.deepEqual([result.answers.length, result.failure], [2, undefined])
})

test("lines are split at any place, and those that are too long are skipped", () => {
  const stream = new PassThrough()
  const got: string[] = []
  lines(stream, (line) => got.push(line))
  for (const piece of ["a", "b\nü", "\n\nc\nd", "\n"]) stream.emit("data", Buffer.from(piece))
  const half = Buffer.alloc(9 << 20, "x")
  for (const piece of [half, half, Buffer.from("\nlast\nrest")]) stream.emit("data", piece)
  assert.deepEqual(got, ["ab", "ü", "", "c", "d", "last"])
})
