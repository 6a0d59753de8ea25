/**
 * Measures the time of the shim's own code in a steady pass, in the same phases as Passes: compare (guess, encode,
 * check) and apply (draft, apply).
 *
 *   npm run bench:shim              5,000 messages with 3.5 KB of tool output
 *   npm run bench:shim -- 1000      only 1,000 messages
 */
import { message } from "../../opencode-shim/src/v1/generated/message.ts"
import type { Patch } from "../src/generated/protocol.ts"
import { DeltaEncoder, MutationApplier } from "../src/index.ts"
import { session } from "./session.ts"

const count = Number(process.argv[2] ?? 5000)
const passes = 41

/** Half of the messages get a tag, for example `§12§`, as in a session with few drops. */
function edits(messages: number): Record<string, Patch> {
  const patches: Record<string, Patch> = {}
  for (let i = 0; i < messages; i++) {
    const path = i % 10 === 0 ? "/parts/0/text" : "/parts/2/state/output"
    if (i % 2 === 0) patches[`msg_${i}`] = [{ op: "prepend", path, value: `§${i}§ ` }]
  }
  return patches
}

const json = JSON.stringify(session(count + passes, 0))
const whole = JSON.parse(json) as unknown[]
const encoder = new DeltaEncoder(message)
const applier = new MutationApplier((m) => (m as { info: { id: string } }).info.id)
const head = [{ info: { id: "head", role: "user" }, parts: [{ type: "text", text: "history ".repeat(5000) }] }]

const times: Record<"compare" | "apply" | "both", number[]> = { compare: [], apply: [], both: [] }
for (let pass = 0; pass < passes; pass++) {
  // A harness reads its database again for each pass, so the arrays of two passes share no string.
  const messages = (JSON.parse(json) as unknown[]).slice(0, count + pass)
  const resync = pass === 0
  const t0 = performance.now()
  const delta = encoder.guess(messages)
  if (!encoder.isRight(delta, messages)) throw new Error(`pass ${pass}: the array has changed before its end`)
  const t1 = performance.now()
  encoder.confirm(delta, pass + 1)
  const added = pass === 0 ? { head, edits: edits(count) } : { edits: {} }
  const t2 = performance.now()
  const draft = applier.draft(messages, delta.keep)
  applier.apply(messages, { revision: pass + 1, verdict: "steady", start: count / 50, ...added }, resync, draft)
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
