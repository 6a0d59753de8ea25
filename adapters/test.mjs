// Runs the tests of the shims in both runtimes that the shims run in: Node and Bun.
//
//   npm test                     all
//   npm test -- --node passes    only in Node, and only the tests whose path contains "passes"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join, relative } from "node:path"
import { build } from "esbuild"

const here = import.meta.dirname
const out = join(here, "shim-core", "dist", "test")
const args = process.argv.slice(2)
const words = args.filter((arg) => !arg.startsWith("--"))
const runtimes = ["--node", "--bun"].filter((name) => args.includes(name))

const tests = readdirSync(here)
  .map((name) => join(here, name, "test"))
  .filter((dir) => existsSync(dir))
  .flatMap((dir) => readdirSync(dir, { recursive: true }).map((name) => join(dir, name)))
  .filter((path) => path.endsWith(".test.ts") && words.every((word) => path.includes(word)))

// Each test file is bundled by itself, so that the runtimes need neither TypeScript nor our workspaces.
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
await build({
  entryPoints: tests.map((path) => ({ in: path, out: relative(here, path).replaceAll(/[\\/]/g, "-").replace(/\.ts$/, "") })),
  outdir: out,
  bundle: true,
  format: "esm",
  platform: "node",
  external: ["vscode-jsonrpc", "solid-js", "@opentui/solid"], // CommonJS that loads Node's modules; OpenCode 2 provides the others
  sourcemap: "inline",
  define: { shimVersion: '"test"', repository: JSON.stringify(join(here, "..")) },
})
const bundles = readdirSync(out).map((name) => join(out, name))

// Each test file runs in its own process, because all shims of a process share one host.
const bun = join(here, "..", "node_modules", ".bin", "bun")
const commands = {
  "--node": [[process.execPath, "--enable-source-maps", "--test", "--test-timeout=60000", ...bundles]],
  "--bun": bundles.map((bundle) => [bun, "test", "--timeout", "60000", bundle]),
}
let failed = false
/** Runs the commands of the queue. The output of a command is printed when the command has ended. */
async function work(queue) {
  for (let command = queue.shift(); command; command = queue.shift()) {
    const [program, ...programArgs] = command
    const output = []
    const child = spawn(program, programArgs, { stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk))
    const status = await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve))
    process.stdout.write(Buffer.concat(output))
    failed ||= status !== 0
  }
}
const queue = (runtimes.length ? runtimes : Object.keys(commands)).flatMap((runtime) => commands[runtime])
await Promise.all(Array.from({ length: availableParallelism() }, () => work(queue)))
process.exitCode = failed ? 1 : 0
