import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import type { InitializeResult } from "@magicctx/shim-core"
import type { Script } from "../../../shim-core/test/fakehost.ts"
import { shimNotifications } from "../../../shim-core/test/generated/goldens.ts"
import type { PluginContext, TerminalContext } from "../../src/v2/opencode2.ts"
import { setup } from "../../src/v2/tui/half.ts"
import { fake, load, user } from "./fake-opencode2.ts"
import { FakeRpc, FakeTerminal } from "./fake-terminal.ts"

const commands: InitializeResult["commands"] = [{ name: "ctx-status", description: "Show it." }, { name: "ctx-wrapup", description: "Wrap up." }]
const status = { ...shimNotifications["session/changed"], harness: "opencode2", session: "s" } as const

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

/**
 * Waits until the terminal has registered the commands. On a busy machine, the terminal may ask for news before the
 * fake host has answered, so an event makes the terminal ask again.
 */
async function registered(terminal: FakeTerminal): Promise<void> {
  for (let ms = 0; terminal.commands.size < 2; ms += 5) {
    await sleep(5)
    if (ms % 3_000 === 2_995) terminal.emit("plugin.updated")
  }
}

/** Loads both halves of the plugin, and opens session s in the terminal. */
async function open(t: TestContext, answer: Partial<InitializeResult> = {}, script: Script = {}, trim: (ctx: TerminalContext) => Partial<TerminalContext> = (ctx) => ctx) {
  const rpc = new FakeRpc()
  const loaded = await load(t, { commands, ...answer }, { ...script, results: { "session/status": status, ...script.results } }, (ctx: PluginContext) => ({ ...ctx, rpc }))
  const terminal = new FakeTerminal(loaded.opencode.directory, rpc)
  terminal.session = "s"
  t.after(setup(trim(terminal.ctx) as TerminalContext, terminal.solid))
  return { ...loaded, rpc, terminal }
}

test("a command answers in a dialog that stays, without a prompt", async (t) => {
  const { opencode, terminal, received } = await open(t, {}, { results: { "command/execute": { title: "magicctx", message: "45% full.\nMore.", variant: "info", stays: true } } })
  await registered(terminal)
  const command = terminal.commands.get("ctx-status")!
  assert.deepEqual([command.description, command.slash], ["Show it.", { name: "ctx-status", arguments: true }])
  await command.run(" 5 ")
  assert.deepEqual(terminal.dialogs, [["magicctx", "45% full.\nMore.", "esc closes · ↑/↓ scrolls"]])
  for (const name of ["down", "pagedown", "up", "x"]) terminal.screen.press({ name })
  assert.equal(terminal.screen.scrolled, 10)
  assert.deepEqual(received("command/execute")[0]!.params, { session: "s", directory: opencode.directory, command: "ctx-status", arguments: "5" })
  assert.ok(terminal.directories.every((directory) => directory === opencode.directory), "each call names the directory of the session")
  assert.equal(received("session/transform").length, 0)
})

test("a short answer and a failure are toasts", async (t) => {
  const { terminal } = await open(t, {}, { results: { "command/execute": { title: "magicctx", message: "Done.", variant: "success" } } })
  await registered(terminal)
  const { run } = terminal.commands.get("ctx-wrapup")!
  await run()
  fake.follow({ errors: { "command/execute": { code: -32602, message: "no such turn" } } })
  await run("x")
  terminal.session = undefined
  await run("")
  assert.deepEqual(terminal.toasts.map(({ message, variant }) => [message, variant]), [
    ["Done.", "success"],
    ["/ctx-wrapup: no such turn", "error"],
    ["/ctx-wrapup is about a session: open one first.", "warning"],
  ])
})

const page = { text: "One memory.", choices: [{ label: "1. A fact", command: "ctx-menu", arguments: "memory 1" }, { label: "Edit", command: "ctx-menu", arguments: "edit", ask: "The fact", value: "old" }] }
const menu = { results: { "command/execute": { title: "Memories", message: "/ctx-menu memory 1: A fact", variant: "info", stays: true, page } } }

test("the user walks through the pages in dialogs", async (t) => {
  const { terminal, received } = await open(t, {}, menu)
  await registered(terminal)
  const { answers, shown } = terminal.screen
  answers.push("1. A fact", "Edit", "new")
  await terminal.commands.get("ctx-status")!.run("")
  const list = ["Memories\nOne memory.", ["1. A fact", "Edit"]]
  assert.deepEqual(shown, [list, list, ["The fact", "old"], list])
  assert.deepEqual(received("command/execute").map(({ params }) => params!.arguments), ["", "memory 1", "edit new"])
})

test("an OpenCode whose dialogs offer no choices shows the words of a page", async (t) => {
  const { terminal } = await open(t, {}, menu, (ctx) => ({ ...ctx, ui: { ...ctx.ui, dialog: { ...ctx.ui.dialog!, select: undefined as never } } }))
  await registered(terminal)
  await terminal.commands.get("ctx-status")!.run("")
  assert.deepEqual(terminal.dialogs, [["Memories", "/ctx-menu memory 1: A fact", "esc closes · ↑/↓ scrolls"]])
})

test("the host's notices are toasts in each terminal, once", async (t) => {
  const { opencode, rpc, terminal } = await open(t)
  const second = new FakeTerminal(opencode.directory, rpc)
  await registered(terminal)
  opencode.add("s", user("u1", "one"))
  fake.follow({ ask: { "session/transform": ["notify/show", { directory: opencode.directory, title: "magicctx", message: "A bust.", variant: "info" }] } })
  await opencode.request("s")
  await until(() => terminal.toasts.length === 1)
  terminal.emit("server.connected")
  await sleep(20)
  assert.deepEqual(terminal.toasts.map(({ message }) => message), ["A bust."])
  assert.equal(second.toasts.length, 0)
})

test("trouble from before the terminal opened is shown, and the line says it", async (t) => {
  const { terminal } = await open(t, { enabled: false, trouble: true, reason: "the disk is full" } as Partial<InitializeResult>)
  await until(() => terminal.toasts.length === 1)
  assert.match(terminal.toasts[0]!.message, /^magicctx is not working: the disk is full\./)
  assert.equal(terminal.toasts[0]!.variant, "warning")
  await until(() => terminal.line === "magicctx is not working")
})

test("line and sidebar show the session's panel, and follow it", async (t) => {
  const { terminal, received, opencode } = await open(t)
  await until(() => terminal.line === "magicctx 45% of 200k · 7 taken out · saved $1.50 … /ctx-status")
  assert.equal(terminal.footers.get("s")!.fg, "grey")
  assert.deepEqual([terminal.sidebar[0], terminal.sidebar.at(-1)], ["magicctx", "cache hits|93%"])
  assert.deepEqual(received.length && fake.received("session/subscribe").at(-1)!.params, { harness: "opencode2", session: "s" })
  opencode.add("s", user("u1", "one"))
  fake.follow({ tell: { "session/transform": ["session/changed", { ...status, panel: { ...status.panel!, line: "another", newer: 1 } }] } } as Script)
  await opencode.request("s")
  await until(() => terminal.line === "another")
})

test("after a restart of the host, the panel is followed again", async (t) => {
  const { terminal, opencode } = await open(t)
  await until(() => terminal.line?.startsWith("magicctx 45%") === true)
  const before = fake.received("session/subscribe").length
  opencode.add("s", user("u1", "one"))
  const starts = fake.entries().filter(({ start }) => start).length
  fake.follow({ dieOn: { "session/transform": starts }, results: { "session/status": { ...status, panel: { ...status.panel!, line: "after the restart" } } } })
  await opencode.request("s")
  await until(() => terminal.line === "after the restart")
  assert.equal(fake.received("session/subscribe").length, before + 1)
})

test("an RPC that fails stops nothing", async (t) => {
  const register = () => {
    throw new Error("another plugin has this id")
  }
  const { opencode } = await load(t, {}, {}, (ctx) => ({ ...ctx, rpc: { register } }))
  opencode.add("s", user("u1", "one"))
  await opencode.request("s")
})

// The betas have no RPC, toasts or dialogs. A later version may lack other members.
test("without RPC, the half says once what is missing", async (t) => {
  const { terminal } = await open(t, {}, {}, (ctx) => ({ ...ctx, client: {} }))
  await until(() => terminal.toasts.length === 1)
  assert.equal(terminal.toasts[0]!.message, "This version of OpenCode shows no commands, notices and panel of magicctx.")
  assert.equal(terminal.footers.size, 0)
})

test("without Solid, there is no panel, and the answer is a plain dialog", async (t) => {
  const rpc = new FakeRpc()
  const { opencode } = await load(t, { commands }, { results: { "command/execute": { message: "Long.", variant: "info", stays: true } } }, (ctx) => ({ ...ctx, rpc }))
  const terminal = new FakeTerminal(opencode.directory, rpc)
  terminal.session = "s"
  t.after(setup(terminal.ctx, () => Promise.reject(new Error("Cannot find module"))))
  await registered(terminal)
  assert.deepEqual(terminal.toasts.map(({ message }) => message), ["This version of OpenCode shows no panel of magicctx."])
  await terminal.commands.get("ctx-status")!.run()
  assert.deepEqual(terminal.alerts, [{ title: "magicctx", message: "Long." }])
})

test("without dialogs, the answer is a toast that lasts", async (t) => {
  const { terminal } = await open(t, {}, { results: { "command/execute": { message: "Long.", variant: "info", stays: true } } }, ({ ui: { dialog: _, ...ui }, ...ctx }) => ({ ...ctx, ui }))
  await registered(terminal)
  await terminal.commands.get("ctx-status")!.run()
  assert.deepEqual(terminal.toasts, [{ title: "magicctx", message: "Long.", variant: "info", duration: 60_000 }])
})

test("with nothing but what the betas have, nothing fails", async (t) => {
  const { terminal } = await open(t, {}, {}, ({ data, ui: { router } }) => ({ client: {}, data, ui: { router, slot: () => () => {} } }) as unknown as TerminalContext)
  await sleep(20)
  assert.deepEqual([terminal.commands.size, terminal.toasts.length], [0, 0])
})

test("a half that is unloaded listens to nothing, and one terminal has one half", async (t) => {
  const rpc = new FakeRpc()
  const { opencode } = await load(t, { commands }, {}, (ctx) => ({ ...ctx, rpc }))
  const terminal = new FakeTerminal(opencode.directory, rpc)
  const stop = setup(terminal.ctx, terminal.solid)
  setup(terminal.ctx, terminal.solid)()
  await registered(terminal)
  stop()
  assert.deepEqual([...terminal.handlers.values()].flat(), [])
})
