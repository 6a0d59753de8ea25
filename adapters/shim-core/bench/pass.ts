/**
 * Measures the shim's own share of a steady pass: compare, encode, apply.
 *
 *   npm run bench                   5,000 messages of about 3.5 KB
 *   npm run bench -- 1000           1,000 of them
 */
import { message } from "../../opencode-shim/src/projection.ts"
import type { Patch } from "../src/generated/protocol.ts"
import { DeltaEncoder, MutationApplier } from "../src/index.ts"

const count = Number(process.argv[2] ?? 5000)
const passes = 41

function session(messages: number): unknown[] {
  return Array.from({ length: messages }, (_, i) => (i % 10 === 0 ? user(i) : assistant(i)))
}

function user(i: number) {
  const info = { id: `msg_${i}`, sessionID: "ses_1", role: "user", time: { created: i }, agent: "build", model: { providerID: "p", modelID: "m" } }
  const diff = { file: "src/a.ts", patch: "+".repeat(600), additions: 1, deletions: 0 }
  const text = { id: `prt_${i}`, sessionID: "ses_1", messageID: info.id, type: "text", text: `Question ${i} `.repeat(20) }
  return { info: { ...info, summary: { diffs: [diff] } }, parts: [text] }
}

function assistant(i: number) {
  const common = (n: number) => ({ id: `prt_${i}_${n}`, sessionID: "ses_1", messageID: `msg_${i}` })
  const tokens = { total: 100, input: 10, output: 90, reasoning: 0, cache: { read: 0, write: 0 } }
  const output = `line ${i} of the output\n`.repeat(60)
  const info = {
    id: `msg_${i}`, sessionID: "ses_1", role: "assistant", parentID: `msg_${i - (i % 10)}`, time: { created: i, completed: i + 1 },
    agent: "build", mode: "build", providerID: "p", modelID: "m", path: { cwd: "/project", root: "/project" }, cost: 0.1, tokens, finish: "tool-calls",
  }
  const state = { status: "completed", input: { filePath: `/project/src/${i}.ts`, offset: 1 }, output, title: "read", metadata: { preview: output.slice(0, 600), truncated: false }, time: { start: i, end: i + 1 } }
  return {
    info,
    parts: [
      { ...common(0), type: "step-start", snapshot: "0123456789abcdef0123456789abcdef01234567" },
      { ...common(1), type: "reasoning", text: "I think that ".repeat(10), time: { start: i, end: i }, metadata: { anthropic: { signature: "s".repeat(200) } } },
      { ...common(2), type: "tool", callID: `call_${i}`, tool: "read", state },
      { ...common(3), type: "step-finish", reason: "tool-calls", cost: 0.1, tokens },
    ],
  }
}

/** Half of the messages have their tag prefix, as in a session that drops little. */
function edits(messages: number): Record<string, Patch> {
  const patches: Record<string, Patch> = {}
  for (let i = 0; i < messages; i++) {
    const path = i % 10 === 0 ? "/parts/0/text" : "/parts/2/state/output"
    if (i % 2 === 0) patches[`msg_${i}`] = [{ op: "prepend", path, value: `§${i}§ ` }]
  }
  return patches
}

const json = JSON.stringify(session(count + passes))
const whole = JSON.parse(json) as unknown[]
const encoder = new DeltaEncoder(message)
const applier = new MutationApplier((m) => (m as { info: { id: string } }).info.id)
const head = [{ info: { id: "head", role: "user" }, parts: [{ type: "text", text: "history ".repeat(5000) }] }]

const times: Record<"compare" | "apply" | "both", number[]> = { compare: [], apply: [], both: [] }
for (let pass = 0; pass < passes; pass++) {
  // The harness reads its database anew for each pass, so no string is shared with the pass before.
  const messages = (JSON.parse(json) as unknown[]).slice(0, count + pass)
  const resync = pass === 0
  const t0 = performance.now()
  const delta = encoder.encode(messages)
  const t1 = performance.now()
  encoder.confirm(delta, pass + 1)
  const added = pass === 0 ? { head, edits: edits(count) } : { edits: {} }
  const t2 = performance.now()
  applier.apply(messages, { revision: pass + 1, verdict: "steady", start: count / 50, ...added }, resync)
  const t3 = performance.now()
  if (resync) {
    console.log(`first pass: encode ${(t1 - t0).toFixed(1)} ms (${(delta.attachment.length / 1e6).toFixed(1)} MB), apply ${(t3 - t2).toFixed(1)} ms`)
    continue
  }
  times.compare.push(t1 - t0)
  times.apply.push(t3 - t2)
  times.both.push(t1 - t0 + t3 - t2)
}

const size = JSON.stringify(whole.slice(0, count)).length
console.log(`${count} messages, ${(size / 1e6).toFixed(1)} MB, ${passes - 1} passes, ${runtime()}`)
for (const [name, values] of Object.entries(times)) {
  values.sort((a, b) => a - b)
  const at = (q: number) => values[Math.floor(q * (values.length - 1))]!.toFixed(2)
  console.log(`${name.padEnd(8)} p50 ${at(0.5)} ms   p95 ${at(0.95)} ms`)
}

function runtime(): string {
  return process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`
}
