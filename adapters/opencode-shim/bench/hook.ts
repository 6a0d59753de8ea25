/**
 * Measures how long a user of OpenCode waits for the hook that magicctx runs before each model request. The benchmark
 * calls the hook of the built bundle, with a real bridge and a real host. Before each call, it parses the array again
 * and waits for 0, 5 or 100 ms. The waits matter, because the bridge and the host sleep in the meantime, and processes
 * that sleep are slow to wake up. In the same rounds, the benchmark measures JSON.stringify of the same array, to show
 * how fast the machine is. It never forces a garbage collection.
 *
 *   npm run bench:hook                      100, 1,000 and 5,000 messages
 *   npm run bench:hook -- 1000              only 1,000 messages
 *   npm run bench:hook -- --pauses 0,5      other pauses
 *   npm run bench:hook -- --rounds 100      more rounds than 40
 *   npm run bench:hook -- --with DIR        also another checkout, in turns; it is built first
 *   npm run bench:hook -- --json            the figures as JSON
 */
import { spawnSync } from "node:child_process"
import { closeSync, existsSync, fstatSync, mkdirSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { ProtocolMajor } from "@magicctx/shim-core"
import { session } from "../../shim-core/bench/session.ts"
import type { Hooks, Message } from "../src/v1/opencode.ts"

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "40" }, pauses: { type: "string", default: "0,5,100" }, with: { type: "string" }, json: { type: "boolean", default: false } },
})
const sizes = positionals.length ? positionals.map(Number) : [100, 1000, 5000]
const pauses = flags.pauses.split(",").map(Number)
const rounds = Number(flags.rounds)
const resyncs = 5

/** If this variable is set when Bun starts, Bun reports its garbage collections on stderr. */
const logsCollections = "BUN_JSC_logGC"
if (!process.env[logsCollections]) {
  const file = join(mkdtempSync(join(tmpdir(), "magicctx-bench-")), "gc.log")
  const log = openSync(file, "a+")
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { env: { ...process.env, [logsCollections]: "1" }, stdio: ["inherit", "inherit", log] })
  if (status !== 0) process.stderr.write(text(log, 0))
  rmSync(join(file, ".."), { recursive: true })
  process.exit(status ?? 1)
}

/** Bun writes its log to stderr, which the parent process has redirected to a file. This opens the file for reading. */
const collections = openSync("/dev/stderr", "r")

function text(file: number, from: number): string {
  const bytes = Buffer.alloc(fstatSync(file).size - from)
  return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, from))
}

/** Calls f and measures the call. */
async function timed(f: () => unknown): Promise<Sample> {
  const before = fstatSync(collections).size
  const scheduledBefore = scheduled()
  const t0 = performance.now()
  await f()
  const ms = performance.now() - t0
  const scheduledAfter = scheduled()
  const waited = scheduledAfter.waited - scheduledBefore.waited
  const log = fstatSync(collections).size > before ? text(collections, before) : ""
  const gc = [...log.matchAll(/ p=([\d.]+)ms/g)].reduce((sum, match) => sum + Number(match[1]), 0)
  return { ms, gc, onCore: scheduledAfter.onCore - scheduledBefore.onCore, isDisturbed: waited > disturbedShare * ms }
}

/** All times are in ms. */
interface Sample {
  ms: number
  /** How long the garbage collector stopped the program. The field ms includes this time. */
  gc: number
  /** The CPU time of this thread. It hardly changes when other programs keep the machine busy. */
  onCore: number
  /** True if this thread waited for a core during more than disturbedShare of the call, because other programs ran. */
  isDisturbed: boolean
}

const disturbedShare = 0.1
const schedstat = "/proc/thread-self/schedstat"
const tellsWaits = existsSync(schedstat)

/** This thread's CPU time and its time of waiting for a core so far, in ms; 0 if the system does not report them. */
function scheduled(): { onCore: number; waited: number } {
  const [onCore, waited] = tellsWaits ? readFileSync(schedstat, "utf8").split(" ").map((ns) => Number(ns) / 1e6) : []
  return { onCore: onCore ?? 0, waited: waited ?? 0 }
}

/** A version of magicctx: a checkout that was built. */
interface Version {
  name: string
  root: string
}

const here: Version = { name: "this version", root: join(import.meta.dirname, "../../..") }
const versions = flags.with ? [{ name: "the other version", root: resolve(process.env.INIT_CWD ?? ".", flags.with) }, here] : [here]

/** A version that is running. */
interface Running extends Version {
  dir: string
  hooks: Hooks
}

let loads = 0

/** Loads a new copy of a version's bundle. The version's host stores its data in `dir`. */
async function load(version: Version, dir: string): Promise<Running> {
  mkdirSync(join(dir, "run"), { recursive: true, mode: 0o700 })
  Object.assign(process.env, {
    MAGICCTX_HOST: join(version.root, "bin/magicctx-host"), MAGIC_CONTEXT_DATA_DIR: dir, XDG_RUNTIME_DIR: join(dir, "run"), XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir,
  })
  mkdirSync(join(dir, "magicctx"), { recursive: true })
  writeFileSync(join(dir, "magicctx/magicctx.jsonc"), '{"historian": {"disable": true}}')
  // All bundles of a process share the host that is stored under this symbol, but each version needs its own host.
  delete (globalThis as Record<symbol, unknown>)[Symbol.for(`magicctx.host/${ProtocolMajor}`)]
  const { default: plugin } = await import(`${join(version.root, "adapters/opencode-shim/dist/index.js")}?${++loads}`)
  const nothing = async () => ({ data: {} })
  const model = { limit: { context: 10_000_000 } }
  const client = {
    app: { log: nothing }, tui: { showToast: nothing },
    config: { providers: async () => ({ data: { providers: [{ id: "p", models: { m: model } }] } }) },
    session: { get: async () => ({ data: { id: "ses_1" } }), messages: nothing, prompt: nothing },
  }
  const hooks = (await plugin.server({ client, directory: dir, worktree: dir })) as Hooks
  return { ...version, dir, hooks }
}

/** Runs and times one pass. Throws if the last message is unchanged, for example because the host did not answer. */
async function pass({ hooks, name }: Running, messages: Message[]): Promise<Sample> {
  const before = JSON.stringify(messages.at(-1))
  const sample = await timed(() => hooks["experimental.chat.messages.transform"]!({}, { messages }))
  if (JSON.stringify(messages.at(-1)) === before) throw new Error(`a pass of ${name} has changed nothing`)
  return sample
}

interface Kinds<T> {
  /** A steady pass with one more step. */
  step: T
  /** A pass over the same array as the previous pass. */
  nothingNew: T
  /** A call of another hook, experimental.text.complete, with a text that the host does not change. */
  call: T
}

interface Figures extends Kinds<Quantiles> {
  messages: number
  pause: number
  version: string
  /** JSON.stringify of the same array, in ms. */
  stringify: Quantiles
  /** The median of `step` divided by the median of `stringify`. Both medians come from the function `best`. */
  ratio: number
  ratioNothingNew: number
}

interface Quantiles {
  p50: number
  p95: number
  /** The mean of `gc` in the samples. */
  gc: number
  /** The median CPU time of this thread. */
  onCore: number
  samples: number
  undisturbed: number
  /** p50 and p95 of the undisturbed samples; undefined if these are fewer than a third of all samples. */
  undisturbedP50: number | undefined
  undisturbedP95: number | undefined
}

interface Resync {
  messages: number
  version: string
  firstPass: number
  resync: Quantiles
}

async function measure(messages: number): Promise<{ passes: Figures[]; resyncs: Resync[] }> {
  const temporary = mkdtempSync(join(tmpdir(), "magicctx-bench-"))
  const history = JSON.stringify(session(messages + pauses.length * (rounds + warmUps), Date.now()))
  const whole = JSON.parse(history) as Message[]
  const json = (steps: number) => JSON.stringify(whole.slice(0, messages + steps))
  const running: Running[] = []
  const all = { passes: [] as Figures[], resyncs: [] as Resync[] }
  for (const [i, version] of versions.entries()) {
    const one = await load(version, join(temporary, String(i)))
    const { ms } = await pass(one, JSON.parse(json(0)))
    running.push(one)
    all.resyncs.push({ messages, version: version.name, firstPass: ms, resync: quantiles([]) })
  }
  let steps = 0
  for (const pause of pauses) {
    const samples = running.map((): Kinds<Sample[]> => ({ step: [], nothingNew: [], call: [] }))
    const stringified: Sample[] = []
    for (let round = -warmUps; round < rounds; round++) {
      const array = json(++steps)
      for (const k of running.keys()) {
        const i = (k + steps) % running.length // the versions take turns at being first
        const one = running[i]!
        const step = await pass(one, await read(array, pause))
        const nothingNew = await pass(one, await read(array, pause))
        await sleep(pause)
        const call = await timed(() => one.hooks["experimental.text.complete"]!({ sessionID: "ses_1" }, { text: "Nothing to change here." }))
        if (round >= 0) add(samples[i]!, { step, nothingNew, call })
      }
      const value = await read(array, pause)
      const sample = await timed(() => JSON.stringify(value))
      if (round >= 0) stringified.push(sample)
    }
    const stringify = quantiles(stringified)
    for (const [i, { name }] of running.entries()) {
      const step = quantiles(samples[i]!.step)
      const nothingNew = quantiles(samples[i]!.nothingNew)
      all.passes.push({
        messages, pause, version: name, step, nothingNew, call: quantiles(samples[i]!.call), stringify,
        ratio: best(step) / best(stringify), ratioNothingNew: best(nothingNew) / best(stringify),
      })
    }
  }
  const resynced = running.map((): Sample[] => [])
  const array = json(steps)
  for (let n = 0; n < resyncs; n++) {
    for (const [i, one] of running.entries()) {
      // This measures a resync: the new copy of the bundle has no state, but the host and its database know the
      // session.
      const again = await load(one, one.dir)
      resynced[i]!.push(await pass(again, JSON.parse(array)))
      await again.hooks.dispose!()
    }
  }
  for (const [i, samples] of resynced.entries()) all.resyncs[i]!.resync = quantiles(samples)
  for (const one of running) await one.hooks.dispose!()
  await sleep(lingerMS) // if the hosts were killed earlier, the shims would start them again
  for (const one of running) {
    process.kill(Number(/\d+/.exec(readFileSync(join(one.dir, "magicctx.lock"), "utf8")))) // the lock file names the host's process
  }
  await sleep(300)
  rmSync(temporary, { recursive: true, force: true })
  return all
}

/** A little more than the time after which a shim without plugin instances closes its connection to the host. */
const lingerMS = 2200

/** The number of passes before the measurement. After them, Bun has compiled the code of a pass. */
const warmUps = 20

function add(samples: Kinds<Sample[]>, one: Kinds<Sample>): void {
  samples.step.push(one.step)
  samples.nothingNew.push(one.nothingNew)
  samples.call.push(one.call)
}

/**
 * Waits, and then parses the array. OpenCode also makes a new array for each request, which shares no strings with the
 * last one.
 */
async function read(array: string, pause: number): Promise<Message[]> {
  await sleep(pause)
  return JSON.parse(array) as Message[]
}

function sleep(ms: number): Promise<void> | undefined {
  return ms === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms))
}

function quantiles(samples: Sample[]): Quantiles {
  const alone = samples.filter(({ isDisturbed }) => !isDisturbed)
  const isEnough = alone.length * 3 >= samples.length
  return {
    p50: at(samples, 0.5), p95: at(samples, 0.95), gc: samples.reduce((sum, { gc }) => sum + gc, 0) / samples.length,
    onCore: at(samples.map(({ onCore }) => ({ ms: onCore })), 0.5), samples: samples.length, undisturbed: alone.length,
    undisturbedP50: isEnough ? at(alone, 0.5) : undefined, undisturbedP95: isEnough ? at(alone, 0.95) : undefined,
  }
}

function at(samples: { ms: number }[], q: number): number {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b)
  return sorted[Math.round(q * (sorted.length - 1))] ?? NaN
}

/** The median of the undisturbed samples. If these are too few, best returns the median of all samples. */
function best({ p50, undisturbedP50 }: Quantiles): number {
  return undisturbedP50 ?? p50
}

/**
 * The goals, by number of messages. The hook's median, divided by the median of JSON.stringify, must not exceed the
 * goal.
 */
const goals: Record<number, number> = { 100: 1, 1000: 0.42, 5000: 0.28 }
const goalSpread = 1.8
const goalResync: Record<number, number> = { 5000: 400 }

function print({ passes, resyncs }: Awaited<ReturnType<typeof measure>>): void {
  const [first] = passes
  console.log(`\n${first!.messages} messages`)
  const rows: [string, (f: Figures) => string][] = [
    ["a step more, p50, ms", (f) => ms(f.step.p50)],
    ["a step more, p95, ms", (f) => ms(f.step.p95)],
    ["  undisturbed p50, ms", (f) => ms(f.step.undisturbedP50)],
    ["  undisturbed p95, ms", (f) => ms(f.step.undisturbedP95)],
    ["  undisturbed p95 : p50", (f) => goal(f.step.undisturbedP95! / f.step.undisturbedP50!, goalSpread)],
    ["  undisturbed", (f) => `${f.step.undisturbed} of ${f.step.samples}`],
    ["  of it collection, mean", (f) => ms(f.step.gc)],
    ["  of it this thread, p50", (f) => ms(f.step.onCore)],
    ["nothing new, p50, ms", (f) => ms(f.nothingNew.p50)],
    ["nothing new, p95, ms", (f) => ms(f.nothingNew.p95)],
    ["a call, p50, ms", (f) => ms(f.call.p50)],
    ["a call, p95, ms", (f) => ms(f.call.p95)],
    ["JSON.stringify, p50, ms", (f) => ms(f.stringify.p50)],
    ["  undisturbed p50, ms", (f) => ms(f.stringify.undisturbedP50)],
    ["a step more : stringify", (f) => goal(f.ratio, goals[f.messages])],
    ["nothing new : stringify", (f) => f.ratioNothingNew.toFixed(2)],
  ]
  const cell = (text: string) => text.padStart(16)
  const column = (f: Figures) => (versions.length > 1 ? `${f.version === here.name ? "this" : "other"}, ${f.pause} ms` : `pause ${f.pause} ms`)
  console.log("".padEnd(26) + passes.map((f) => cell(column(f))).join(""))
  for (const [name, value] of rows) console.log(name.padEnd(26) + passes.map((f) => cell(value(f))).join(""))
  for (const r of resyncs) {
    console.log(`${r.version}: first pass ever ${ms(r.firstPass)} ms, resync p50 ${ms(r.resync.p50)} ms${goalResync[r.messages] ? `, goal ${goalResync[r.messages]}` : ""}`)
  }
}

function ms(value: number | undefined): string {
  return value === undefined ? "too few" : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
}

function goal(value: number, wanted: number | undefined): string {
  if (Number.isNaN(value)) return "too few"
  return value.toFixed(2) + (wanted === undefined ? "" : ` / ${wanted} ${value <= wanted ? "ok" : "OVER"}`)
}

const results = []
for (const n of sizes) {
  const one = await measure(n)
  results.push(one)
  if (!flags.json) print(one)
}
if (!flags.json) console.log("\nfigure / goal. Undisturbed: this thread has hardly waited for a core. Collection: the collector had stopped this thread")
if (flags.json) console.log(JSON.stringify({ passes: results.flatMap((r) => r.passes), resyncs: results.flatMap((r) => r.resyncs) }, null, 2))
closeSync(collections)
process.exit(0)
