/** Plays random sessions with the built shim and host, and checks each request as a provider would. See README.md. */
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { runAgent } from "./piagent.ts"
import { Tail } from "./machine.ts"
import { shimLogPath, World, type Finding, type Harness, type Server } from "./world.ts"

interface Options {
  harness: Harness
  seed: number
  sessions: number
  passes: number
  timeMS: number
  jobs: number
  /**
   * The difference between the seeds of two consecutive sessions. If N processes share the sessions, it is N, so that
   * no two processes play the same seed.
   */
  stride: number
  verbose: boolean
  /** The directory to which requests with findings are written. Empty if none are written. */
  dump: string
  host: string
  shim: string
  isJob: boolean
}

const repository = join(import.meta.dirname, "../..")

const usage = `task fuzz:passes -- [options]
  -harness pi   play in Pi, or in opencode2. Default: opencode
  -seed N       the first session; the others follow it. Default: from the clock
  -sessions N   how many sessions at most
  -passes N     no further session once so many passes were played
  -time 2m      no further session after so long (s, m, h). Default: 2m, unless sessions or passes are given
  -jobs N       how many processes share the work. Default: 2, or 1 for one session
  -v            tell every pass
  -dump DIR     write each request in which something is found, before and after the hook
  -host PATH    another host than bin/magicctx-host
  -shim PATH    another shim than adapters/opencode-shim/dist/index.js, or pi-shim's`

function parse(args: readonly string[]): Options {
  const options: Options = {
    seed: Math.floor(Date.now() / 1000) % 10_000_000, sessions: Infinity, passes: Infinity, timeMS: 0, jobs: 0, stride: 1, verbose: false, dump: "",
    host: join(repository, "bin/magicctx-host"), shim: "", harness: "opencode", isJob: false,
  }
  const rest = [...args]
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const value = () => rest.shift() ?? fail(`${name} needs a value`)
    switch (name.replace(/^--/, "-")) {
      case "-harness": options.harness = harness(value()); break
      case "-seed": options.seed = number(value()); break
      case "-sessions": options.sessions = number(value()); break
      case "-passes": options.passes = number(value()); break
      case "-time": options.timeMS = duration(value()); break
      case "-jobs": options.jobs = number(value()); break
      case "-stride": options.stride = number(value()); break
      case "-host": options.host = resolve(value()); break
      case "-shim": options.shim = resolve(value()); break
      case "-dump": options.dump = resolve(value()); break
      case "-v": options.verbose = true; break
      case "-job": options.isJob = true; break
      default: fail(`there is no option ${name}\n${usage}`)
    }
  }
  if (options.timeMS === 0) options.timeMS = options.sessions < Infinity || options.passes < Infinity ? Infinity : 120_000
  options.jobs ||= options.sessions === 1 ? 1 : 2
  options.shim ||= join(repository, `adapters/${options.harness === "pi" ? "pi" : "opencode"}-shim/dist/index.js`)
  options.host = realpathSync(options.host)
  return options
}

function harness(text: string): Harness {
  return text === "pi" || text === "opencode" || text === "opencode2" ? text : fail(`${text} is no harness: opencode, opencode2 or pi`)
}

function number(text: string): number {
  const n = Number(text)
  return Number.isFinite(n) ? n : fail(`${text} is no number`)
}

function duration(text: string): number {
  const match = /^(\d+)(s|m|h)$/.exec(text)
  return match ? Number(match[1]) * { s: 1000, m: 60_000, h: 3_600_000 }[match[2] as "s" | "m" | "h"] : fail(`${text} is no time: write it as 90s, 2m or 1h`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}

interface Sum {
  sessions: number
  passes: number
  counts: Record<string, number>
  findings: Finding[]
}

async function play(options: Options): Promise<Sum> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "magicctx-fuzz-")))
  process.env.TMPDIR = join(root, "tmp")
  mkdirSync(process.env.TMPDIR)
  const { default: plugin } = (await import(pathToFileURL(options.shim).href)) as { default: Record<string, Server> }
  const server = options.harness === "pi" ? plugin : plugin[options.harness === "opencode" ? "server" : "setup"]
  const sum: Sum = { sessions: 0, passes: 0, counts: {}, findings: [] }
  const shimLog = new Tail(shimLogPath(process.env.TMPDIR, options.harness))
  const ends = Date.now() + options.timeMS
  const say = options.verbose ? (line: string) => console.log(line) : () => {}
  try {
    for (let seed = options.seed; sum.sessions < options.sessions && sum.passes < options.passes && Date.now() < ends; seed += options.stride) {
      const world = new World(options.harness, seed, root, options.host, server, shimLog, say, options.dump)
      await world.play()
      sum.sessions++
      sum.passes += world.passes
      for (const [what, n] of Object.entries(world.counts)) sum.counts[what] = (sum.counts[what] ?? 0) + n
      for (const finding of world.findings) {
        sum.findings.push(finding)
        console.log(`FINDING ${finding.rule}: session -seed ${finding.seed}, pass ${finding.pass} (${finding.session})\n  ${finding.detail}`)
      }
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
  return sum
}

/**
 * A process can play only one session at a time. So this function starts several processes, and gives each of them a
 * part of the sessions.
 */
async function share(options: Options): Promise<Sum> {
  const jobs = Array.from({ length: options.jobs }, (_, i) => {
    const each = (n: number) => (n === Infinity ? [] : [String(Math.ceil((n - i) / options.jobs))])
    const bounds = [
      ...each(options.sessions).flatMap((n) => ["-sessions", n]), ...each(options.passes).flatMap((n) => ["-passes", n]),
      ...(options.timeMS === Infinity ? [] : ["-time", `${Math.ceil(options.timeMS / 1000)}s`]),
    ]
    const args = [import.meta.filename, "-job", "-harness", options.harness, "-seed", String(options.seed + i), "-stride", String(options.jobs), "-host", options.host, "-shim", options.shim, ...bounds]
    if (options.dump) args.push("-dump", options.dump)
    if (options.verbose) args.push("-v")
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
    return new Promise<Sum>((resolve, reject) => {
      let text = ""
      let sum: Sum | undefined
      child.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString()
        const lines = text.split("\n")
        text = lines.pop()!
        for (const line of lines) {
          if (line.startsWith("SUM ")) sum = JSON.parse(line.slice(4)) as Sum
          else console.log(line)
        }
      })
      child.on("error", reject)
      child.on("exit", (code) => (sum ? resolve(sum) : reject(new Error(`a job ended with code ${code}`))))
    })
  })
  const all: Sum = { sessions: 0, passes: 0, counts: {}, findings: [] }
  for (const sum of await Promise.all(jobs)) {
    all.sessions += sum.sessions
    all.passes += sum.passes
    all.findings.push(...sum.findings)
    for (const [what, n] of Object.entries(sum.counts)) all.counts[what] = (all.counts[what] ?? 0) + n
  }
  return all
}

if (process.env.MAGICCTX_SUBAGENT) await runAgent() // Pi's shim has started this program in place of Pi
const options = parse(process.argv.slice(2))
if (options.isJob) {
  console.log(`SUM ${JSON.stringify(await play(options))}`)
  process.exit(0)
}
const began = Date.now()
console.log(`sessions from -seed ${options.seed} on`)
const sum = options.jobs === 1 ? await play(options) : await share(options)
const seconds = (Date.now() - began) / 1000
console.log(`${sum.sessions} sessions, ${sum.passes} passes in ${seconds.toFixed(0)} s (${(sum.passes / seconds).toFixed(0)} a second)`)
const happened = Object.entries(sum.counts).filter(([what]) => !what.startsWith("!")).sort()
console.log(`what happened: ${happened.map(([what, n]) => `${what} ${n}`).join(", ")}`)
const rules = new Map<string, Finding[]>()
for (const finding of sum.findings) rules.set(finding.rule, [...(rules.get(finding.rule) ?? []), finding])
for (const [rule, findings] of [...rules].sort(([, a], [, b]) => b.length - a.length)) {
  console.log(`${rule}: in ${findings.length} sessions, as in -seed ${findings[0]!.seed}`)
}
if (rules.size > 0) console.log("Repeat one with: task fuzz:passes -- -seed N -sessions 1 -v")
else console.log("no finding")
process.exit(rules.size > 0 ? 1 : 0)
