/**
 * Measures a steady pass as the harness sees it (compare, encode, pipe, host,
 * apply), through the real bridge and the real host, beside the budgets of the
 * design.
 *
 *   npm run bench                   100, 1,000 and 5,000 messages of 3.5 KB of tool output
 *   npm run bench -- 1000           1,000 of them
 *   npm run bench -- --json         the figures as JSON
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { message } from "../../opencode-shim/src/projection.ts"
import { Host, Passes, ProtocolMajor, ProtocolMinor, startHost, Method, silent } from "../src/index.ts"
import { session, type RawMessage } from "./session.ts"

const passes = 60
const root = join(import.meta.dirname, "../../..")
const binary = process.env.MAGICCTX_HOST ?? join(root, "bin/magicctx-host")
const sizes = process.argv.slice(2).map(Number).filter(Boolean)

interface Figures {
  messages: number
  megabytes: number
  wholeP50: number
  wholeP95: number
  hostP50: number
  hostP95: number
  firstPass: number
  resync: number
  memoryMB: number
  startup: number
  binaryMB: number
}

async function measure(messages: number): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), "magicctx-bench-"))
  const runtime = join(dir, "run")
  mkdirSync(runtime, { mode: 0o700 })
  Object.assign(process.env, { MAGIC_CONTEXT_DATA_DIR: dir, XDG_RUNTIME_DIR: runtime, XDG_CONFIG_HOME: dir })
  // The history, and for each pass one more step of the model; a pause between turns would let the prefix expire.
  const history = JSON.stringify(session(messages + passes, Date.now()))
  const started = performance.now()
  const host = new Host(() => startHost(binary, silent), silent)
  const protocol = { major: ProtocolMajor, minor: ProtocolMinor }
  const opening = host.open(
    { protocol, client: "bench", clientVersion: "0", harness: "opencode", directory: dir },
    { [Method.ModelLimits]: async () => ({ contextTokens: 200_000_000 }) } as never,
  )
  const limits = await opening.opened(20_000)
  if (!limits) throw new Error(`${binary} does not answer: ${host.trouble}`)
  const startup = performance.now() - started
  const runner = new Passes(host, { projection: message, key: (m) => (m as RawMessage).info.id }, silent)

  // The harness reads its database anew for each pass, so no string is shared with the pass before.
  const array = (steps: number) => (JSON.parse(history) as unknown[]).slice(0, messages + steps)
  const pass = async (steps: number, with_ = runner) => {
    const all = array(steps)
    settle()
    const t0 = performance.now()
    const outcome = await with_.run(all, { session: "ses_1", directory: dir }, limits)
    const took = performance.now() - t0
    if (outcome !== "applied") throw new Error(`pass at ${messages + steps} messages was ${outcome}`)
    const status = await host.call(Method.SessionStatus, { harness: "opencode", session: "ses_1" }, { timeoutMS: 5000 })
    return { took, host: status.lastPassMs ?? 0, verdict: status.lastVerdict }
  }
  const firstPass = (await pass(0)).took
  const whole: number[] = []
  const hostTimes: number[] = []
  for (let i = 1; i < passes; i++) {
    const { took, host, verdict } = await pass(i)
    if (verdict !== "steady") throw new Error(`pass ${i} was ${verdict}`)
    whole.push(took)
    hostTimes.push(host)
  }
  // A shim that has lost its array, on a database that knows the session.
  const resync = (await pass(passes - 1, new Passes(host, { projection: message, key: (m) => (m as RawMessage).info.id }, silent))).took
  await new Promise((resolve) => setTimeout(resolve, 1000)) // at rest, as while a model answers
  const memoryMB = resident(limits.hostPid)
  host.stop()
  process.kill(limits.hostPid, "SIGTERM")
  await gone(limits.hostPid)
  rmSync(dir, { recursive: true, force: true })
  const megabytes = JSON.stringify(JSON.parse(history).slice(0, messages)).length / 1e6
  return { messages, megabytes, wholeP50: at(whole, 0.5), wholeP95: at(whole, 0.95), hostP50: at(hostTimes, 0.5), hostP95: at(hostTimes, 0.95), firstPass, resync, memoryMB, startup, binaryMB: statSync(binary).size / 1e6 }
}

/**
 * Lets the collector do now what it would do in the middle of the next pass. No sleep: a harness comes to the hook from
 * 80 ms and more of reading its database, and waking an idle processor at each hop would be measured as ours.
 */
function settle(): void {
  ;(globalThis as { Bun?: { gc(sync: boolean): void } }).Bun?.gc(true)
}

/** The resident memory of a process in MB. */
function resident(pid: number): number {
  const { stdout } = spawnSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })
  return stdout ? Number(stdout) / 1024 : Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function at(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.round(q * (sorted.length - 1))]!
}

/** Design §10, ms and MB; 0 where it sets none. */
const budgets: Record<number, Partial<Record<keyof Figures, number>>> = {
  1000: { wholeP50: 4, wholeP95: 8 },
  5000: { wholeP50: 18, hostP50: 2, resync: 600, firstPass: 2000, memoryMB: 200 },
}
const always: Partial<Record<keyof Figures, number>> = { startup: 60, binaryMB: 30 }
const rows: [keyof Figures, string][] = [
  ["megabytes", "array, MB"],
  ["wholeP50", "steady pass p50, ms"],
  ["wholeP95", "steady pass p95, ms"],
  ["hostP50", "  of it host p50, ms"],
  ["hostP95", "  of it host p95, ms"],
  ["resync", "resync, ms"],
  ["firstPass", "first pass ever, ms"],
  ["memoryMB", "host memory, MB"],
  ["startup", "start to initialize, ms"],
  ["binaryMB", "binary, MB"],
]

const figures: Figures[] = []
for (const n of sizes.length ? sizes : [100, 1000, 5000]) figures.push(await measure(n))
if (process.argv.includes("--json")) console.log(JSON.stringify(figures, null, 2))
else print(figures)

function print(all: Figures[]): void {
  const cell = (text: string) => text.padStart(20)
  console.log("".padEnd(26) + all.map((f) => cell(`${f.messages} messages`)).join(""))
  for (const [key, name] of rows) {
    const cells = all.map((f) => {
      const budget = { ...always, ...budgets[f.messages] }[key]
      const value = f[key].toFixed(1)
      return cell(budget ? `${value} / ${budget} ${f[key] <= budget ? "ok" : "OVER"}` : value)
    })
    console.log(name.padEnd(26) + cells.join(""))
  }
  const by = (n: number) => all.find((f) => f.messages === n)
  const [small, large] = [by(1000), by(5000)]
  if (small && large) console.log(`\nhost work, 5,000 : 1,000 messages   ${(large.hostP50 / small.hostP50).toFixed(2)} (budget 1.5)`)
  console.log("figure / budget; p50 and p95 of " + (passes - 1) + " passes, each with one more step")
}
