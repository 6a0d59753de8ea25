/**
 * Measures the time of the shim's own code in a steady pass: join, compare (guess, encode, check), apply (draft,
 * apply), flatten. bench:shim of shim-core does the same for OpenCode.
 *
 *   npm run bench:shim -w @magicctx/pi              5,000 steps with 3.5 KB of tool output
 *   npm run bench:shim -w @magicctx/pi -- 1000      only 1,000 steps
 */
import { DeltaEncoder, MutationApplier } from "@magicctx/shim-core"
import { step } from "../src/generated/step.ts"
import type { Message } from "../src/pi.ts"
import { flatten, join, type Step } from "../src/steps.ts"
import { session } from "./session.ts"

const count = Number(process.argv[2] ?? 5000)
const passes = 41

const whole = session(count + passes, 0)
const starts = whole.flatMap(({ role }, i) => (role === "toolResult" ? [] : [i]))
const encoder = new DeltaEncoder(step)
const applier = new MutationApplier((one) => (one as Step).id)

/** Half of the steps get a tag, for example `§12§`, as in a session with few drops. */
const edits = Object.fromEntries(
  join(whole.slice(0, starts[count])).flatMap(({ id, results }, i) =>
    i % 2 === 0 ? [[id, [{ op: "prepend" as const, path: results ? "/results/0/content/0/text" : "/message/content/0/text", value: `§${i}§ ` }]]] : [],
  ),
)

const times: Record<"join" | "compare" | "apply" | "flatten" | "all", number[]> = { join: [], compare: [], apply: [], flatten: [], all: [] }
for (let pass = 0; pass < passes; pass++) {
  // Pi clones its messages for each pass.
  const messages = structuredClone(whole.slice(0, starts[count + pass])) as Message[]
  const t0 = performance.now()
  const steps = join(messages)
  const t1 = performance.now()
  const delta = encoder.guess(steps)
  if (!encoder.isRight(delta, steps)) throw new Error(`pass ${pass}: the array has changed before its end`)
  const t2 = performance.now()
  encoder.confirm(delta, pass + 1)
  const t3 = performance.now()
  const draft = applier.draft(steps, delta.keep)
  applier.apply(steps, { revision: pass + 1, verdict: "steady", start: 0, edits: pass === 0 ? edits : {} }, pass === 0, draft)
  const t4 = performance.now()
  if (flatten(steps).length !== messages.length) throw new Error("messages are gone")
  const t5 = performance.now()
  if (pass === 0) continue
  times.join.push(t1 - t0)
  times.compare.push(t2 - t1)
  times.apply.push(t4 - t3)
  times.flatten.push(t5 - t4)
  times.all.push(t2 - t0 + t5 - t3)
}

console.log(`${count} steps, ${passes - 1} passes, ${process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`}`)
for (const [name, values] of Object.entries(times)) {
  values.sort((a, b) => a - b)
  const at = (q: number) => values[Math.floor(q * (values.length - 1))]!.toFixed(2)
  console.log(`${name.padEnd(8)} p50 ${at(0.5)} ms   p95 ${at(0.95)} ms`)
}
