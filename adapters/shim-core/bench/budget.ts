/**
 * Measures how long a steady pass takes for the harness: compare, encode, pipe, host, apply. It uses the real bridge
 * and the real host, and prints the budgets beside the figures.
 *
 *   npm run bench                   100, 1,000 and 5,000 messages of 3.5 KB of tool output,
 *                                   and 5,000 of which all but the newest 20 are dropped; the same
 *                                   sizes with Pi's shim
 *   npm run bench -- 1000           only 1,000 messages
 *   npm run bench -- --json         the figures as JSON
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Host, Passes, ProtocolMajor, ProtocolMinor, startHost, Method, silent } from "../src/index.ts"
import { Neighbour } from "./neighbour.ts"
import { opencode, pi, type Bench } from "./harness.ts"
import { session } from "./session.ts"

/**
 * A measurement runs at least `least` passes. It then goes on until `undisturbed` of its passes were undisturbed, but
 * it stops after `most` passes.
 */
const passes = { least: 100, undisturbed: 60, most: 200 }
/** The total time that a measurement waits for other processes to leave the core, in ms. */
const patienceMS = 40_000
const root = join(import.meta.dirname, "../../..")
const binary = process.env.MAGICCTX_HOST ?? join(root, "bin/magicctx-host")
const sizes = process.argv.slice(2).map(Number).filter(Boolean)

interface Figures {
  harness: string
  messages: number
  /** True if all messages that may be dropped were dropped before the measurement. */
  edited: boolean
  megabytes: number
  passes: number
  wholeP50: number
  wholeP95: number
  /**
   * The number of passes during which no other process used the core. If it is too small, undisturbedP50 and
   * undisturbedP95 are undefined.
   */
  undisturbed: number
  undisturbedP50: number | undefined
  undisturbedP95: number | undefined
  hostP50: number
  hostP95: number
  firstPass: number
  resync: number
  memoryMB: number
  startup: number
  binaryMB: number
}

async function measure(messages: number, edited = false, bench: Bench = opencode): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), "magicctx-bench-"))
  const runtime = join(dir, "run")
  mkdirSync(runtime, { mode: 0o700 })
  Object.assign(process.env, { MAGIC_CONTEXT_DATA_DIR: dir, XDG_RUNTIME_DIR: runtime, XDG_CONFIG_HOME: dir })
  mkdirSync(join(dir, "magicctx"))
  writeFileSync(join(dir, "magicctx/magicctx.jsonc"), '{"historian": {"disable": true}}')
  // raw holds the history, and one more step for each pass. All messages have about the same time, because a longer
  // pause between two turns would let the prefix expire.
  const raw = bench.history(messages + passes.most, Date.now())
  const history = JSON.stringify(raw)
  const started = performance.now()
  const host = new Host(() => startHost(binary, silent, { harness: bench.harness, keepsAlive: false }), silent)
  const protocol = { major: ProtocolMajor, minor: ProtocolMinor }
  const opening = host.open(
    { protocol, client: "bench", clientVersion: "0", harness: bench.harness, directory: dir },
    { [Method.ModelLimits]: async () => ({ contextTokens: 10_000_000 }) } as never,
  )
  const limits = await opening.opened(20_000)
  if (!limits) throw new Error(`${binary} does not answer: ${host.trouble}`)
  const startup = performance.now() - started
  const runner = new Passes(host, bench.format, silent)

  // A real harness reads its database again for each pass, so the arrays of two passes share no strings. Parsing the
  // history again has the same effect.
  const array = (steps: number) => (JSON.parse(history) as unknown[]).slice(0, bench.end(raw, messages + steps))
  let patience = patienceMS
  const of = { session: "ses_1", directory: dir, ...(bench.harness === "pi" && { model: { provider: "p", id: "m" } }) }
  const pass = async (steps: number, with_ = runner) => {
    patience = neighbour.wait(patience)
    const all = array(steps)
    settle()
    const before = neighbour.sample()
    const t0 = performance.now()
    const outcome = await bench.pass(all, (one) => with_.run(one, of, limits))
    const elapsed = performance.now() - t0
    const isUndisturbed = neighbour.isAway(before) && neighbour.isAway(neighbour.sample())
    if (outcome !== "applied") throw new Error(`pass at ${messages + steps} messages was ${outcome}`)
    const status = await host.call(Method.SessionStatus, { harness: bench.harness, session: "ses_1" }, { timeoutMS: 5000 })
    return { elapsed, isUndisturbed, host: status.lastPassMs ?? 0, verdict: status.lastVerdict }
  }
  const firstPass = (await pass(0)).elapsed
  let steps = 0
  if (edited) {
    await dropAll(host, dir, messages)
    const { verdict } = await pass(0)
    if (verdict !== "soft") throw new Error(`the pass that drops everything was ${verdict}`)
    await pass(++steps) // this one drops the newest messages, because they were protected so far
  }
  const whole: number[] = []
  const undisturbed: number[] = []
  const hostTimes: number[] = []
  while (steps < passes.least || (undisturbed.length < passes.undisturbed && steps < passes.most)) {
    const { elapsed, isUndisturbed, host, verdict } = await pass(++steps)
    if (verdict !== "steady") throw new Error(`pass ${steps} was ${verdict}`)
    whole.push(elapsed)
    if (isUndisturbed) undisturbed.push(elapsed)
    hostTimes.push(host)
  }
  // A resync is measured here. The new Passes object knows no messages, but the host's database knows the session.
  const resync = (await pass(steps, new Passes(host, bench.format, silent))).elapsed
  await new Promise((resolve) => setTimeout(resolve, 1000)) // let the processes rest, as they do while a model answers
  const memoryMB = resident(limits.hostPid)
  await host.stop()
  process.kill(limits.hostPid, "SIGTERM")
  await gone(limits.hostPid)
  rmSync(dir, { recursive: true, force: true })
  const megabytes = JSON.stringify(array(0)).length / 1e6
  const alone = (q: number) => (undisturbed.length < passes.undisturbed / 2 ? undefined : at(undisturbed, q))
  return {
    harness: bench.harness, messages, edited, megabytes, passes: steps, wholeP50: at(whole, 0.5), wholeP95: at(whole, 0.95),
    undisturbed: undisturbed.length, undisturbedP50: alone(0.5), undisturbedP95: alone(0.95),
    hostP50: at(hostTimes, 0.5), hostP95: at(hostTimes, 0.95), firstPass, resync, memoryMB, startup, binaryMB: statSync(binary).size / 1e6,
  }
}

/**
 * Drops all units of the session with ctx_reduce, as a model does, then calls /ctx-flush, so that the next pass applies
 * the drops. Each message is one unit.
 */
async function dropAll(host: Host, directory: string, messages: number): Promise<void> {
  const atOnce = 1000 // the host refuses more drops in one call
  for (let from = 1; from <= messages; from += atOnce) {
    const args = { drop: `${from}-${Math.min(messages, from + atOnce - 1)}` }
    await host.call(Method.ToolExecute, { session: "ses_1", directory, tool: "ctx_reduce", callId: `drop-${from}`, args }, { timeoutMS: 20_000 })
  }
  await host.call(Method.CommandExecute, { session: "ses_1", directory, command: "ctx-flush", arguments: "" }, { timeoutMS: 5000 })
}

/**
 * Returns how many times slower this machine is than the machine for which the budgets were set. On that machine, Bun
 * writes 5,000 messages (29 MB) as JSON in 44 ms. If this machine is faster, the result is 1.
 */
function slowness(): number {
  const reference = 44
  const array = JSON.parse(JSON.stringify(session(5000, 0))) as unknown
  const times = Array.from({ length: 9 }, () => {
    const t0 = performance.now()
    JSON.stringify(array)
    return performance.now() - t0
  })
  return Math.max(1, at(times, 0.5) / reference)
}

/**
 * Collects garbage now, so that no collection runs during the next pass. settle does not sleep: after a sleep, the
 * figures would include the time to wake up an idle processor. A real harness has just read its database for 80 ms or
 * more, so its processor is awake.
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

/** The budgets in ms and MB, by number of messages. A figure without a budget is only printed. */
const budgets: Record<number, Partial<Record<keyof Figures, number>>> = {
  1000: { wholeP50: 4, wholeP95: 8, undisturbedP50: 4, undisturbedP95: 8 },
  5000: { wholeP50: 18, undisturbedP50: 18, hostP50: 2, resync: 600, firstPass: 2000, memoryMB: 200 },
}
const always: Partial<Record<keyof Figures, number>> = { startup: 60, binaryMB: 30 }
const rows: [keyof Figures, string][] = [
  ["megabytes", "array, MB"],
  ["wholeP50", "steady pass p50, ms"],
  ["wholeP95", "steady pass p95, ms"],
  ["undisturbedP50", "  undisturbed p50, ms"],
  ["undisturbedP95", "  undisturbed p95, ms"],
  ["undisturbed", "  passes undisturbed"],
  ["hostP50", "  of it host p50, ms"],
  ["hostP95", "  of it host p95, ms"],
  ["resync", "resync, ms"],
  ["firstPass", "first pass ever, ms"],
  ["memoryMB", "host memory, MB"],
  ["startup", "start to initialize, ms"],
  ["binaryMB", "binary, MB"],
]

const neighbour = new Neighbour()
const slower = slowness()
const figures: Figures[] = []
for (const bench of [opencode, pi]) for (const n of sizes.length ? sizes : [100, 1000, 5000]) figures.push(await measure(n, false, bench))
if (!sizes.length) figures.push(await measure(5000, true))
if (process.argv.includes("--json")) console.log(JSON.stringify(figures, null, 2))
else print(figures)

/**
 * Compares a figure with its budget. "ok*" means that the time is over the budget only because this machine is slower
 * than the one for which the budgets were set.
 */
function verdict(key: keyof Figures, value: number, budget: number): string {
  if (value <= budget) return "ok"
  const isTime = key !== "memoryMB" && key !== "binaryMB"
  return isTime && value / slower <= budget ? "ok*" : "OVER"
}

function print(all: Figures[]): void {
  const cell = (text: string) => text.padStart(20)
  console.log("".padEnd(26) + all.map((f) => cell(f.harness === "pi" ? `Pi, ${f.messages}` : f.edited ? `${f.messages}, all dropped` : `${f.messages} messages`)).join(""))
  for (const [key, name] of rows) {
    const cells = all.map((f) => {
      const budget = f.harness === "opencode" && { ...always, ...budgets[f.messages] }[key]
      if (key === "undisturbed") return cell(`${f.undisturbed} of ${f.passes}`)
      if (f[key] === undefined) return cell("too few")
      const value = (f[key] as number).toFixed(1)
      return cell(budget ? `${value} / ${budget} ${verdict(key, f[key] as number, budget)}` : value)
    })
    console.log(name.padEnd(26) + cells.join(""))
  }
  const by = (n: number) => all.find((f) => f.messages === n && !f.edited && f.harness === "opencode")
  const [small, large] = [by(1000), by(5000)]
  if (small && large) console.log(`\nhost work, 5,000 : 1,000 messages   ${(large.hostP50 / small.hostP50).toFixed(2)} (budget 1.5)`)
  for (const { messages, wholeP50 } of all.filter((f) => f.harness === "pi")) {
    const same = by(messages)
    if (same) console.log(`Pi : OpenCode, ${messages} messages   ${(wholeP50 / same.wholeP50).toFixed(2)} (budget 1.3)`)
  }
  if (slower > 1) {
    console.log(`* within the budget of the machine that it was set on: this one is ${slower.toFixed(1)} times slower`)
    console.log("  (Bun writes 29 MB of messages as JSON in that many times 44 ms)")
  }
  console.log("figure / budget; each pass has one more step. Undisturbed: nobody else was on the core before and after")
}
