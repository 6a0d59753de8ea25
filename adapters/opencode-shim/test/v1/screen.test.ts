import assert from "node:assert/strict"
import { after, test, type TestContext } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { FakeHost, fakeHostPath, initialized, type Script } from "../../../shim-core/test/fakehost.ts"
import { shimNotifications } from "../../../shim-core/test/generated/goldens.ts"
import { barOf } from "../../src/tui/panels.ts"
import type { PaletteCommand, Screen } from "../../src/v1/opencode.ts"
import { screen } from "../../src/v1/screen.ts"
import { FakeSolid, rowsOf, type Node } from "../fake-solid.ts"

const status = { ...shimNotifications["session/changed"], harness: "opencode", session: "s1" } as const
const panel = status.panel!

// All tests of this file use one fake, because the process shares one host.
const fake = new FakeHost()
process.env.MAGICCTX_HOST = fakeHostPath()
after(() => fake.remove())

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

/** The screen of OpenCode 1. */
class FakeScreen {
  readonly solid = new FakeSolid()
  readonly toasts: string[] = []
  readonly ran: object[] = []
  readonly palette = new Map<string, PaletteCommand>()
  readonly slots: Record<string, (context: unknown, props: { session_id: string }) => unknown> = {}
  private readonly stops: Array<() => void> = []
  session = ""
  failure: unknown
  readonly api: Screen

  constructor() {
    const self = this
    this.api = {
      route: { get current() { return self.session ? { name: "session", params: { sessionID: self.session } } : { name: "home" } } },
      theme: { current: { text: "white", textMuted: "grey", warning: "yellow", error: "red", success: "green" } },
      ui: { toast: ({ message }) => void this.toasts.push(message) },
      keymap: { registerLayer: ({ commands }) => commands.forEach((command) => this.palette.set(command.desc, command)) },
      slots: { register: ({ slots }) => (Object.assign(this.slots, slots), "magicctx") },
      client: { session: { command: async (of) => (this.ran.push(of), { error: this.failure }) } },
      lifecycle: { onDispose: (stop) => this.stops.push(stop) },
    }
  }

  /** Shows a session, as OpenCode does: it makes all elements anew. */
  open(session: string) {
    this.session = session
    this.solid.clear()
    const [sidebar, line] = ["sidebar_content", "session_prompt_right"].map((name) => this.slots[name]!({}, { session_id: session }) as Node)
    return { rows: () => rowsOf(sidebar!), line: () => line!.content, colours: () => coloursOf(sidebar!) }
  }

  close(): void {
    for (const stop of this.stops.splice(0)) stop()
  }
}

const coloursOf = (node: Node): Map<string, unknown> => new Map(node.tag === "text" ? [[node.content!, node.fg]] : node.children.flatMap((child) => [...coloursOf(child)]))

async function load(t: TestContext, script: Script = {}): Promise<FakeScreen> {
  fake.follow({ ...script, results: { "session/status": status, ...script.results } })
  const opencode = new FakeScreen()
  await screen(opencode.api, opencode.solid.load)
  t.after(() => opencode.close())
  return opencode
}

const since = (count: number, method: string) => fake.received(method).slice(count)

test("until a session is shown, no host is started", async (t) => {
  const opencode = await load(t)
  await sleep(50)
  assert.deepEqual(fake.entries(), [])
  assert.deepEqual([...opencode.palette.keys()], ["/ctx-status", "/ctx-flush", "/ctx-wrapup"])
})

test("sidebar and line show the panel of the session on the screen", async (t) => {
  const opencode = await load(t)
  const shown = opencode.open("s1")
  await until(() => shown.rows().length > 1)
  assert.deepEqual(shown.rows(), [
    "magicctx",
    "90k of 200k tokens (45%)",
    ["##", "▒▒▒▒", "·".repeat(17), "│", "·".repeat(12)].join("|"), // 5,000 of 200,000 tokens fill no cell
    "█ |system prompt|5k",
    "# |summaries|9.7k",
    "▒ |conversation|21k",
    "historian|at work since 14:30",
    "cache hits|93%",
  ])
  assert.equal(shown.line(), "45% of 200k · cache 93%")
  assert.deepEqual(["at work since 14:30", "93%", "historian"].map((text) => shown.colours().get(text)), ["green", "white", "grey"])
  const { harness: _, ...observer } = fake.received("initialize").at(-1)!.params as { harness?: string }
  assert.equal(_, undefined, "a client with a harness would be asked to run hidden agents")
  assert.equal((observer as { client?: string }).client, "opencode-tui")
})

test("the panel follows the session that is shown, and no other", async (t) => {
  const opencode = await load(t)
  const asked = fake.received("session/subscribe").length
  const first = opencode.open("s1")
  await until(() => first.line() === "45% of 200k · cache 93%")
  const other = { ...status, session: "s2", panel: { ...panel, brief: "9% of 200k" } }
  fake.follow({ results: { "session/status": other }, tell: { "session/status": ["session/changed", { ...status, panel: { ...panel, brief: "of another session" } }] } })
  const second = opencode.open("s2")
  await until(() => second.line() === "9% of 200k")
  await sleep(20)
  assert.equal(second.line(), "9% of 200k", "the status of another session is not shown")
  assert.deepEqual(since(asked, "session/subscribe").map(({ params }) => params), [
    { harness: "opencode", session: "s1", only: true },
    { harness: "opencode", session: "s2", only: true },
  ])
  fake.follow({ errors: { "session/status": { code: -32602, message: "unknown" } } })
  const third = opencode.open("s3")
  await until(() => third.line() === "magicctx: no request yet")
})

test("the panel survives a restart of the host, and says meanwhile that it waits", async (t) => {
  const opencode = await load(t)
  const shown = opencode.open("s1")
  await until(() => shown.rows().length > 1)
  const starts = fake.entries().filter(({ start }) => start).length
  const seen: string[] = []
  fake.follow({ dieOn: { "session/subscribe": starts }, results: { "session/status": { ...status, session: "s2", panel: { ...panel, brief: "after the restart" } } } })
  const next = opencode.open("s2") // the host dies when it is asked to follow s2
  await until(() => (seen.push(next.rows()[0] ?? ""), next.line() === "after the restart"))
  assert.ok(seen.includes("magicctx: connecting to the host again"), seen.join("\n"))
  assert.equal(next.rows()[0], "magicctx")
})

test("a host that cannot work says why, and an older host has no panel", async (t) => {
  const broken = await load(t, { results: { initialize: { ...initialized, enabled: false, reason: "the disk is full" } } })
  const first = broken.open("s1")
  await until(() => first.line() === "magicctx is not working: the disk is full")
  broken.close()
  const { panel: _, ...older } = status
  const second = (await load(t, { results: { "session/status": older } })).open("s1")
  await until(() => second.line() === "magicctx: an older host still runs")
})

test("a command of the palette runs in the server, in the session on the screen", async (t) => {
  const opencode = await load(t)
  const { run } = opencode.palette.get("/ctx-flush")!
  run()
  opencode.open("s1")
  run()
  opencode.failure = { name: "UnknownError" }
  run()
  await until(() => opencode.toasts.length === 2)
  assert.deepEqual(opencode.ran[0], { sessionID: "s1", command: "ctx-flush", arguments: "" })
  assert.deepEqual(opencode.toasts, ["/ctx-flush is about a session: open one first.", "/ctx-flush has failed."])
})

test("without Solid, the commands work and nothing fails", async (t) => {
  fake.follow({})
  const opencode = new FakeScreen()
  await screen(opencode.api, () => Promise.reject(new Error("Cannot find module")))
  t.after(() => opencode.close())
  assert.equal(opencode.palette.size, 3)
  assert.deepEqual(Object.keys(opencode.slots), [])
})

test("the bar shows each source in proportion, the free room, and the size of the next bust", () => {
  const part = (source: "system" | "tools", tokens: number) => ({ source, name: source, tokens, size: "" })
  const bar = (parts: Array<ReturnType<typeof part>>, window: number, bust = 0) => barOf({ ...panel, parts, window, bust }, 10)
  assert.deepEqual(bar([part("system", 20), part("tools", 30)], 100), [["system", 2], ["tools", 3], ["room", 5]])
  assert.deepEqual(bar([part("system", 20), part("tools", 30)], 100, 65), [["system", 2], ["tools", 3], ["room", 1], ["bust", 1], ["room", 3]])
  assert.deepEqual(bar([part("system", 90), part("tools", 60)], 100, 100), [["system", 6], ["bust", 1], ["tools", 3]], "a prompt above the window fills the bar")
  assert.deepEqual(bar([], 0), [["room", 10]])
})
