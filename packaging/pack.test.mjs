// This test builds the packages for this platform, and installs them without a network and with no tools but Node, as a
// user might. Then it checks that the installed programs work.
import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, delimiter, dirname, join, relative } from "node:path"
import { after, before, test } from "node:test"
import { pathToFileURL } from "node:url"
import { hostBinary, hostPackage, platforms } from "./manifest.mjs"
import { pack } from "./pack.mjs"

const here = platforms.find(({ os, cpu }) => os === process.platform && cpu === process.arch)
const { version } = JSON.parse(readFileSync(new URL("../adapters/opencode-shim/package.json", import.meta.url), "utf8"))
const root = realpathSync(mkdtempSync(join(tmpdir(), "mcp"))) // kept short: a socket's path may have 104 bytes
const project = join(root, "project")
const scope = join(project, "node_modules", "@magicctx")
const shimDir = join(scope, "opencode")
const piDir = join(scope, "pi")
const hostDir = join(project, "node_modules", ...hostPackage(here).split("/"))

const node = dirname(process.execPath)
const env = {
  PATH: [node, ...(process.platform === "win32" ? [process.env.PATH] : ["/usr/bin", "/bin"])].join(delimiter),
  HOME: root, USERPROFILE: root, TMPDIR: root, SYSTEMROOT: process.env.SYSTEMROOT,
  XDG_RUNTIME_DIR: join(root, "run"), MAGIC_CONTEXT_DATA_DIR: join(root, "data"),
  npm_config_offline: "true", npm_config_cache: join(root, "cache"), npm_config_update_notifier: "false",
}
const run = (program, args, options) =>
  spawnSync(program, args, { cwd: project, env, encoding: "utf8", timeout: 60_000, shell: process.platform === "win32", ...options })
const npm = (...args) => {
  const { status, stdout, stderr } = run("npm", args)
  assert.equal(status, 0, stdout + stderr)
}

let tarballs
before(() => {
  tarballs = pack([here], join(root, "packed"))
  mkdirSync(project)
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 })
  writeFileSync(join(project, "package.json"), "{}")
  npm("install", "--no-audit", "--no-fund", ...tarballs.map(({ path }) => path))
})
after(() => rmSync(root, { recursive: true, force: true }))

const filesBelow = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(dir, join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"))
    .sort()

test("the packages hold what they need and nothing else", () => {
  assert.deepEqual(readdirSync(scope).sort(), [basename(hostDir), "opencode", "pi"])
  assert.deepEqual(filesBelow(shimDir), ["LICENSE", "README.md", "dist/index.js", "dist/launcher.js", "dist/tui.js", "package.json"])
  assert.deepEqual(filesBelow(piDir), ["LICENSE", "README.md", "dist/index.js", "dist/launcher.js", "package.json"])
  assert.deepEqual(filesBelow(hostDir), ["LICENSE", "NOTICES.txt", "README.md", `bin/${hostBinary(here)}`, "package.json"])
  for (const module of ["github.com/ncruces/go-sqlite3 v", "Go\n"]) {
    assert.ok(readFileSync(join(hostDir, "NOTICES.txt"), "utf8").includes(module), module)
  }
})

test("no package has an install script, or a dependency but the hosts of its own version", () => {
  const shim = JSON.parse(readFileSync(join(shimDir, "package.json"), "utf8"))
  const host = JSON.parse(readFileSync(join(hostDir, "package.json"), "utf8"))
  const pi = JSON.parse(readFileSync(join(piDir, "package.json"), "utf8"))
  for (const manifest of [shim, pi, host]) {
    assert.equal(manifest.version, version)
    for (const key of ["scripts", "dependencies", "devDependencies", "peerDependencies", "private", "gypfile"]) {
      assert.ok(!(key in manifest), `${manifest.name} has ${key}`)
    }
  }
  assert.deepEqual(shim.exports, { "./server": "./dist/index.js", "./tui": "./dist/tui.js" })
  assert.ok(shim.engines.opencode)
  for (const { optionalDependencies } of [shim, pi]) {
    assert.equal(Object.keys(optionalDependencies).length, 6)
    assert.equal(optionalDependencies[hostPackage(here)], version)
  }
  assert.deepEqual(pi.pi, { extensions: ["./dist/index.js"] })
  assert.ok(pi.keywords.includes("pi-package")) // Pi's gallery finds a package by this keyword
  assert.deepEqual([host.os, host.cpu], [[process.platform], [process.arch]])
})

test("the same sources make the same bytes", () => {
  const again = pack([here], join(root, "again"))
  for (const [i, { path }] of again.entries()) {
    assert.ok(readFileSync(path).equals(readFileSync(tarballs[i].path)), `${basename(path)} differs`)
  }
})

test("npx magicctx-host runs the packaged host, and exits as it does", () => {
  assert.equal(run("npx", ["magicctx-host", "--version"]).stdout.trim(), version)
  const { status, stderr } = run("npx", ["magicctx-host", "no-such-command"])
  assert.equal(status, 2, stderr)
})

test("npx @magicctx/opencode installs, with arguments and without", () => {
  const { status, stdout, stderr } = run("npx", ["@magicctx/opencode"])
  // There is no terminal, so the command cannot ask the user. It shows the change and stops.
  assert.equal(status, 1, stdout + stderr)
  assert.match(stdout, /opencode-shim\/index\.js/)
  assert.match(stderr, /no terminal to ask on/)
  assert.equal(run("npx", ["@magicctx/opencode", "install", "opencode", "--dry-run"]).status, 0)
  assert.ok(!stdout.includes('"@magicctx/opencode'), "the configuration would name a package that is not registered")
})

test("npx @magicctx/pi installs for Pi", () => {
  const alone = join(root, "alone")
  mkdirSync(alone)
  writeFileSync(join(alone, "package.json"), "{}")
  const paths = tarballs.map(({ path }) => path).filter((path) => !basename(path).startsWith("magicctx-opencode-"))
  assert.equal(run("npm", ["install", "--no-audit", "--no-fund", ...paths], { cwd: alone }).status, 0)
  const { status, stdout, stderr } = run("npx", ["@magicctx/pi"], { cwd: alone })
  assert.equal(status, 1, stdout + stderr)
  assert.match(stdout, /pi-shim\/index\.js/)
  assert.match(stderr, /no terminal to ask on/)
})

const harness = `
  const { default: plugin } = await import(${JSON.stringify(pathToFileURL(join(shimDir, "dist", "index.js")).href)})
  const client = { app: { log: async () => ({}) }, session: { get: async () => ({ data: {} }) } }
  const hooks = await plugin.server({ client, directory: ${JSON.stringify(project)}, worktree: "/" })
  console.log(JSON.stringify(Object.keys(hooks.tool)))
`
const registeredTools = () => {
  // The plugin stores the host's answers in the state directory, and reads them at its next start. Each call gets a new
  // directory, so that it cannot see the answers to an earlier call.
  const own = { ...env, MAGICCTX_HOST_ARGS: "--solo", XDG_STATE_HOME: mkdtempSync(join(root, "state")) }
  const { stdout, stderr } = run(process.execPath, ["--input-type=module"], { input: harness, shell: false, env: own })
  assert.equal(stderr, "")
  return JSON.parse(stdout)
}

test("the installed plugin finds the installed host", () => {
  assert.ok(registeredTools().includes("ctx_reduce"))
})

const piHarness = `
  const { default: extension } = await import(${JSON.stringify(pathToFileURL(join(piDir, "dist", "index.js")).href)})
  const handlers = [], tools = []
  extension({ on: (event, handler) => handlers.push([event, handler]), registerTool: ({ name }) => tools.push(name), registerCommand() {} })
  const sessionManager = { getSessionId: () => "s", getSessionFile() {}, getHeader: () => ({}), getBranch: () => [] }
  const ctx = { cwd: ${JSON.stringify(project)}, hasUI: false, sessionManager, modelRegistry: { find() {} }, isIdle: () => true }
  const emit = async (type, event) => { for (const [name, handler] of handlers) if (name === type) await handler({ type, ...event }, ctx) }
  await emit("session_start", { reason: "startup" })
  console.log(JSON.stringify(tools))
  await emit("session_shutdown", { reason: "quit" })
`
const toolsInPi = () => {
  const own = { ...env, MAGICCTX_HOST_ARGS: "--solo", XDG_STATE_HOME: mkdtempSync(join(root, "state")) }
  const { status, stdout, stderr } = run(process.execPath, ["--input-type=module"], { input: piHarness, shell: false, env: own })
  assert.equal(status, 0, stderr)
  return JSON.parse(stdout)
}

test("the installed extension for Pi finds the installed host, and its process ends", () => {
  assert.ok(toolsInPi().includes("ctx_reduce"))
})

test("the launcher hands on input, output, exit code and signals", { skip: process.platform === "win32" && "needs a shell script as host" }, async (t) => {
  const start = (script) => {
    const fake = join(root, "fake")
    const platform = join(fake, "node_modules", hostPackage(here))
    mkdirSync(join(platform, "bin"), { recursive: true })
    mkdirSync(join(fake, "dist"), { recursive: true })
    writeFileSync(join(platform, "package.json"), "{}")
    writeFileSync(join(platform, "bin", hostBinary(here)), `#!/bin/sh\n${script}\n`)
    chmodSync(join(platform, "bin", hostBinary(here)), 0o755)
    writeFileSync(join(fake, "package.json"), `{"type": "module"}`)
    writeFileSync(join(fake, "dist", "launcher.js"), readFileSync(join(shimDir, "dist", "launcher.js")))
    const child = spawn(process.execPath, [join(fake, "dist", "launcher.js"), "a b", "c"], { env, stdio: ["pipe", "pipe", "inherit"] })
    t.after(() => child.kill("SIGKILL"))
    return child
  }
  const echo = start(`cat; echo "$#:$1"; exit 7`)
  echo.stdin.end("from stdin ")
  let printed = ""
  echo.stdout.on("data", (chunk) => (printed += chunk))
  assert.deepEqual(await once(echo, "close"), [7, null])
  assert.equal(printed, "from stdin 2:a b\n")

  // If the launcher does not forward the signal, the test must fail, not hang. So the loop ends after ten seconds.
  const caught = start(`trap 'exit 9' TERM; echo ready; for i in $(seq 200); do sleep 0.05 >&-; done`)
  await once(caught.stdout, "data")
  caught.kill("SIGTERM")
  assert.deepEqual(await once(caught, "exit"), [9, null])

  const killed = start(`echo ready; kill -INT $$`)
  assert.deepEqual(await once(killed, "exit"), [null, "SIGINT"])
})

// This test removes the host, so it must be the last.
test("without its platform's host the plugin stays quiet, and the launcher says what to do", () => {
  rmSync(hostDir, { recursive: true })
  assert.deepEqual(registeredTools(), [])
  assert.deepEqual(toolsInPi(), [])
  const { status, stderr } = run("npx", ["magicctx-host", "--version"])
  assert.equal(status, 1)
  assert.ok(stderr.includes(`${hostPackage(here)} (not installed)`) && stderr.includes("--omit=optional"), stderr)
})
