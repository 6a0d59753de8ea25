import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { pathToFileURL } from "node:url"
import { fake } from "./fake-pi.ts"

declare const repository: string // defined by the test runner

// A script that behaves like a short run of Pi in print mode: it loads the bundle, opens a session, makes one request,
// and ends when nothing keeps its event loop alive.
const harness = (bundle: string, end: string) => `
  const module = await import(${JSON.stringify(bundle)})
  const on = {}
  const ctx = { cwd: "/p", hasUI: false, ui: { notify() {} }, sessionManager: { getSessionId: () => "s", getHeader: () => ({}) } }
  module.default({ on: (event, handler) => (on[event] = handler), registerTool() {}, registerCommand() {} })
  await on.session_start({ reason: "startup" }, ctx)
  const { messages } = await on.context({ messages: [{ role: "user", content: "one", timestamp: 1 }] }, ctx)
  console.log(JSON.stringify({ exports: Object.keys(module), content: messages[0].content }))
  ${end}
`

const run = (end: string) =>
  new Promise<{ stdout: string; stderr: string }>((resolve, reject) => {
    const bundle = pathToFileURL(join(repository, "adapters", "pi-shim", "dist", "index.js")).href
    execFile(process.execPath, ["--input-type=module", "-e", harness(bundle, end)].slice(process.versions.bun ? 1 : 0), { timeout: 20_000 }, (err, stdout, stderr) => {
      if (err) reject(err)
      else resolve({ stdout, stderr })
    })
  })

test("the bundle is one extension, and Pi's process ends when Pi quits", async () => {
  const { stdout, stderr } = await run('await on.session_shutdown({ reason: "quit" }, ctx)')
  assert.deepEqual(JSON.parse(stdout), { exports: ["default"], content: "§user:1§ one" })
  assert.equal(stderr, "", "nothing is printed over Pi's screen")
  await fake.until((entries) => entries.at(-1)?.end === true)
})

// In print mode, Pi's process ends as soon as nothing keeps it alive, even if an extension still waits for the host.
test("a process that waits for the host lives until the answer", async () => {
  fake.follow({ silent: ["session/transform"], results: { initialize: { ...JSON.parse(limits) } } })
  await assert.rejects(run('await on.session_shutdown({ reason: "quit" }, ctx)'), /Cannot (destructure|read)|undefined/)
  fake.follow({})
})

const limits = JSON.stringify({
  protocol: { major: 1, minor: 0 },
  hostVersion: "fake",
  hostPid: 1,
  storeSchema: 1,
  enabled: true,
  hooks: [],
  tools: [],
  commands: [],
  agents: [],
  transformTimeoutMs: 300,
  resyncTimeoutMs: 300,
})

test("the bundle that the host embeds is fresh", () => {
  const built = readFileSync(join(repository, "adapters", "pi-shim", "dist", "index.js"))
  const embedded = readFileSync(join(repository, "internal", "bundle", "pi-shim.js"))
  assert.ok(built.equals(embedded), "internal/bundle/pi-shim.js is stale: run npm run generate, then build again")
})
