import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { pathToFileURL } from "node:url"
import { fake } from "./v1/fake-opencode.ts"

declare const repository: string // defined by the test runner

// A script that behaves like a short run of OpenCode: it calls the plugin, makes one request, and ends without dispose.
const harness = (bundle: string) => `
  const module = await import(${JSON.stringify(bundle)})
  const client = { app: { log: async () => ({}) }, session: { get: async () => ({ data: {} }) } }
  const hooks = await module.default.server({ client, directory: "/p", worktree: "/p" })
  const messages = [{ info: { id: "u1", sessionID: "ses_1", role: "user" }, parts: [{ type: "text", text: "one" }] }]
  await hooks["experimental.chat.messages.transform"]({}, { messages })
  console.log(JSON.stringify({ exports: Object.keys(module), plugin: Object.keys(module.default), id: module.default.id, text: messages[0].parts[0].text }))
`

test("the bundle is one plugin, and the host that it starts keeps no process alive", async () => {
  const bundle = pathToFileURL(join(repository, "adapters", "opencode-shim", "dist", "index.js")).href
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve, reject) => {
    execFile(process.execPath, ["--input-type=module", "-e", harness(bundle)].slice(process.versions.bun ? 1 : 0), (err, stdout, stderr) => {
      if (err) reject(err)
      else resolve({ stdout, stderr })
    })
  })
  assert.deepEqual(JSON.parse(stdout), { exports: ["default"], plugin: ["id", "server", "setup"], id: "magicctx", text: "§u1§ one" })
  assert.equal(stderr, "", "nothing is printed over the harness's screen")
  await fake.until((entries) => entries.at(-1)?.end === true)
})

// In its terminals, OpenCode provides only Solid to a plugin. If the bundle imported any other module statically, it
// could not be loaded.
test("the half for terminals imports nothing but Node and, when it draws, OpenCode's Solid", async () => {
  const path = join(repository, "adapters", "opencode-shim", "dist", "tui.js")
  const text = readFileSync(path, "utf8")
  const imports = [...text.matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)].map(([, name]) => name!)
  assert.deepEqual(imports.filter((name) => !name.startsWith("node:")).sort(), ["@opentui/solid", "solid-js"])
  const module = (await import(pathToFileURL(path).href)) as { default: { id: string; setup: unknown } }
  assert.deepEqual([Object.keys(module), module.default.id, typeof module.default.setup], [["default"], "magicctx", "function"])
})

test("the bundles that the host embeds are fresh", () => {
  for (const [name, embedded] of [["index.js", "opencode-shim.js"], ["tui.js", "opencode-tui.js"]] as const) {
    const built = readFileSync(join(repository, "adapters", "opencode-shim", "dist", name))
    assert.ok(built.equals(readFileSync(join(repository, "internal", "bundle", embedded))), `internal/bundle/${embedded} is stale: run npm run generate, then build again`)
  }
})
