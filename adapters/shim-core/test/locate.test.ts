import assert from "node:assert/strict"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { test, type TestContext } from "node:test"
import { pathToFileURL } from "node:url"
import { binaryName, locateHost } from "../src/index.ts"
import { doctorCommand } from "../src/locate.ts"

function install(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "locate-"))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const file = (mode: number, ...path: string[]) => {
    const name = join(root, ...path)
    mkdirSync(dirname(name), { recursive: true })
    writeFileSync(name, "{}")
    chmodSync(name, mode)
    return name
  }
  const bundle = pathToFileURL(join(root, "plugin", "dist", "index.js")).href
  return { root, bundle, program: (...path: string[]) => file(0o755, ...path, binaryName), text: (...path: string[]) => file(0o644, ...path) }
}

test("the host is looked for in this order: the variable, the package, beside the bundle, PATH", (t) => {
  const { root, bundle, program, text } = install(t)
  const env = { PATH: ["", ".", join(root, "usr"), join(root, "local")].join(delimiter) }
  assert.throws(() => locateHost(bundle, env, "opencode"), (err: Error) => err.message.includes(`@magicctx/host-${process.platform}-${process.arch}`) && err.message.includes(join(root, "plugin", "bin")))
  const onPath = program("local")
  assert.equal(locateHost(bundle, env, "opencode"), onPath)
  const beside = program("plugin", "bin")
  assert.equal(locateHost(bundle, env, "opencode"), beside)
  const platform = ["plugin", "node_modules", "@magicctx", `host-${process.platform}-${process.arch}`]
  text(...platform, "package.json")
  assert.equal(locateHost(bundle, env, "opencode"), beside, "a package without its binary")
})

test("a packaged host comes before the one beside the bundle", (t) => {
  const { bundle, program, text } = install(t)
  program("plugin", "bin")
  const platform = ["plugin", "node_modules", "@magicctx", `host-${process.platform}-${process.arch}`]
  text(...platform, "package.json")
  const packaged = program(...platform, "bin")
  assert.equal(locateHost(bundle, {}, "opencode"), packaged)
})

test("if the variable names a file, no other place is tried", (t) => {
  const { bundle, program, text } = install(t)
  program("plugin", "bin")
  const mine = program("mine")
  assert.equal(locateHost(bundle, { MAGICCTX_HOST: mine }, "opencode"), mine)
  const plain = text("plain.txt")
  assert.throws(() => locateHost(bundle, { MAGICCTX_HOST: plain }, "opencode"), new RegExp("MAGICCTX_HOST names"))
})

test("the host that install recorded comes first, and a record of a host that is gone says what to do", (t) => {
  const { root, bundle, program, text } = install(t)
  const record = text("plugin", "dist", "host.json")
  const write = (content: unknown) => writeFileSync(record, JSON.stringify(content))
  const moved = join(root, "old", binaryName)
  write({ host: moved })
  assert.throws(() => locateHost(bundle, {}, "opencode"), (err: Error) => err.message.includes(moved) && err.message.includes("magicctx-host install opencode"))
  const onPath = program("local")
  assert.equal(locateHost(bundle, { PATH: dirname(onPath) }, "opencode"), onPath, "a program that was moved to a directory on the PATH")
  const mine = program("mine")
  program("plugin", "bin")
  write({ host: mine })
  assert.equal(locateHost(bundle, { PATH: dirname(onPath) }, "opencode"), mine)
  write({ host: "relative" })
  assert.notEqual(locateHost(bundle, {}, "opencode"), "relative")
})

test("the command of a remedy works in a shell whose PATH does not have the program", (t) => {
  const { bundle, program } = install(t)
  assert.equal(doctorCommand(bundle, {}, "opencode"), "magicctx-host doctor", "nobody knows a program")
  const onPath = program("local")
  const env = { PATH: dirname(onPath) }
  assert.equal(doctorCommand(bundle, env, "opencode"), "magicctx-host doctor")
  const mine = program("my programs")
  assert.equal(doctorCommand(bundle, { ...env, MAGICCTX_HOST: mine }, "opencode"), `${JSON.stringify(mine)} doctor`)
  const beside = program("plugin", "bin")
  assert.equal(doctorCommand(bundle, env, "opencode"), `${beside} doctor`)
})
