import assert from "node:assert/strict"
import { after, test, type TestContext } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { FakeHost, fakeHostPath, initialized, type Script } from "../../../shim-core/test/fakehost.ts"
import { shimNotifications } from "../../../shim-core/test/generated/goldens.ts"
import { barOf, wrapped } from "../../src/tui/panels.ts"
import type { PaletteCommand, Screen } from "../../src/v1/opencode.ts"
import { screen } from "../../src/v1/screen.ts"
import { FakeSolid, rowsOf, type Node } from "../fake-solid.ts"

const status = { ...shimNotifications["session/changed"], harness: "opencode", session: "s1" } as const
const panel = status.panel!

// A process has only one host, so all tests of this file use this fake.
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
  /** The texts of our own dialogs. */
  readonly texts: string[][] = []
  readonly palette = new Map<string, PaletteCommand>()
  readonly slots: Record<string, (context: unknown, props: { session_id: string }) => unknown> = {}
  private readonly stops: Array<() => void> = []
  session = ""
  private closed: (() => void) | undefined
  readonly api: Screen

  constructor() {
    const self = this
    this.api = {
      route: { get current() { return self.session ? { name: "session", params: { sessionID: self.session } } : { name: "home" } } },
      theme: { current: { text: "white", textMuted: "grey", warning: "yellow", error: "red", success: "green" } },
      renderer: { width: 80, height: 40 },
      state: { path: { directory: "/p" } },
      ui: {
        toast: ({ message }) => void this.toasts.push(message),
        dialog: {
          replace: (render, closed) => {
            this.api.ui.dialog.clear()
            this.closed = closed
            const drawn = render()
            if (drawn) this.texts.push(rowsOf(drawn as Node))
          },
          clear: () => {
            const { closed } = this
            this.closed = undefined
            closed?.()
          },
          setSize: () => {},
        },
        DialogSelect: ({ title, options, onSelect }) => this.answer([title, options.map(({ title, description }) => title + (description?.slice(-3) ?? ""))], (label) => onSelect(options.find(({ title }) => label === title)!)),
        DialogConfirm: ({ title, message, onConfirm }) => this.answer([title, message], onConfirm),
        DialogPrompt: ({ title, value, onConfirm }) => this.answer([title, value], (text) => onConfirm(text as string)),
      },
      keymap: { registerLayer: ({ commands }) => commands.forEach((command) => this.palette.set(command.desc, command)) },
      slots: { register: ({ slots }) => (Object.assign(this.slots, slots), "magicctx") },
      lifecycle: { onDispose: (stop) => this.stops.push(stop) },
    }
  }

  /** Plays the user: answers a dialog as soon as it is drawn, or closes the dialog if the test has no answer for it. */
  private answer(shown: unknown, done: (answer: unknown) => void): undefined {
    const answer = this.solid.answer(shown)
    queueMicrotask(() => (answer === undefined ? this.api.ui.dialog.clear() : done(answer)))
  }

  /** Shows a session. As in OpenCode, all elements are created again. */
  open(session: string) {
    this.session = session
    this.solid.clear()
    const [sidebar, line] = ["sidebar_content", "session_prompt_right"].map((name) => this.slots[name]!({}, { session_id: session }) as Node)
    const box = {}
    line!.parent = box
    const resize = (width: number) => {
      line!.width = width
      line!.onSizeChange!()
    }
    resize(40)
    return { rows: () => rowsOf(sidebar!), line: () => rowsOf(line!)[0], resize, box, colours: () => coloursOf(sidebar!) }
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
  assert.deepEqual([...opencode.palette.keys()], ["/ctx-menu", "/ctx-status", "/ctx-flush", "/ctx-wrapup"])
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
  assert.equal(shown.line(), "45% · 7 out … /ctx-status")
  assert.deepEqual(["at work since 14:30", "93%", "historian"].map((text) => shown.colours().get(text)), ["green", "white", "grey"])
  const { harness: _, ...observer } = fake.received("initialize").at(-1)!.params as { harness?: string }
  assert.equal(_, undefined, "a client with a harness would be asked to run hidden agents")
  assert.equal((observer as { client?: string }).client, "opencode-tui")
})

test("the line takes only the room that OpenCode's own names leave", async (t) => {
  const { box, line, resize } = (await load(t)).open("s1")
  await until(() => line() !== "magicctx: no request yet" && line() !== "")
  assert.deepEqual(box, { flexBasis: 0, flexGrow: 1 })
  const shown = [100, 40, 3].map((columns) => (resize(columns), line()))
  assert.deepEqual(shown, ["45% of 200k · 7 taken out · saved $1.50 … /ctx-status", "45% · 7 out … /ctx-status", ""])
})

test("the panel follows the session that is shown, and no other", async (t) => {
  const opencode = await load(t)
  const asked = fake.received("session/subscribe").length
  const first = opencode.open("s1")
  await until(() => first.line() === "45% · 7 out … /ctx-status")
  const other = { ...status, session: "s2", panel: { ...panel, lines: ["9% of 200k"] } }
  fake.follow({ results: { "session/status": other }, tell: { "session/status": ["session/changed", { ...status, panel: { ...panel, lines: ["of another session"] } }] } })
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
  fake.follow({ dieOn: { "session/subscribe": starts }, results: { "session/status": { ...status, session: "s2", panel: { ...panel, lines: ["after the restart"] } } } })
  const next = opencode.open("s2") // the host dies when it is asked to follow s2
  await until(() => (seen.push(next.rows()[0] ?? ""), next.line() === "after the restart"))
  assert.ok(seen.includes("magicctx: connecting to the host\nagain"), seen.join("\n"))
  assert.equal(next.rows()[0], "magicctx")
})

test("a host that cannot work says why, and an older host has no panel", async (t) => {
  const broken = await load(t, { results: { initialize: { ...initialized, enabled: false, reason: "the disk is full" } } })
  const first = broken.open("s1")
  await until(() => first.line() === "magicctx is not working: the disk is fu…")
  first.resize(41)
  assert.equal(first.line(), "magicctx is not working: the disk is full")
  broken.close()
  const { panel: _, ...older } = status
  const second = (await load(t, { results: { "session/status": older } })).open("s1")
  await until(() => second.line() === "magicctx: an older host still runs")
})

const answer = (members: object) => ({ results: { "command/execute": { title: "magicctx", message: "Words.", variant: "info", ...members } } })

test("a command of the palette runs in the host, for the session on the screen", async (t) => {
  const opencode = await load(t, answer({ variant: "success" }))
  const { run } = opencode.palette.get("/ctx-flush")!
  run()
  const { line } = opencode.open("s1")
  await until(() => line() === "45% · 7 out … /ctx-status")
  const asked = fake.received("command/execute").length
  run()
  await until(() => opencode.toasts.length === 2)
  assert.deepEqual(opencode.toasts, ["/ctx-flush is about a session: open one first.", "Words."])
  assert.deepEqual(since(asked, "command/execute").map(({ params }) => params), [{ harness: "opencode", session: "s1", directory: "/p", command: "ctx-flush", arguments: "" }])
  fake.follow({ errors: { "command/execute": { code: -32602, message: "no such turn" } } })
  run()
  await until(() => opencode.toasts.length === 3)
  assert.equal(opencode.toasts[2], "/ctx-flush: no such turn")
  fake.follow(answer({ stays: true }))
  run()
  await until(() => opencode.texts.length === 1)
  assert.deepEqual(opencode.texts[0], ["magicctx", "Words.", "esc closes · ↑/↓ scrolls"])
})

test("the user walks through the pages in dialogs", async (t) => {
  const choices = [
    { label: "Edit", command: "ctx-menu", arguments: "memory 1 edit", ask: "The fact", value: "old" },
    { label: "Archive", about: "a".repeat(60), command: "ctx-menu", arguments: "memory 1 archive", confirm: "No model sees it." },
    { label: "Back", command: "ctx-menu", arguments: "memories" },
  ]
  const opencode = await load(t, answer({ page: { text: "A fact.", choices } }))
  const { run } = opencode.palette.get("/ctx-menu")!
  opencode.open("s1")
  const asked = fake.received("command/execute").length
  const { answers, shown } = opencode.solid
  answers.push("Edit", "new words", "Archive", true, "Archive")
  run()
  await until(() => shown.length === 6) // the last question is closed
  const list = ["magicctx\nA fact.", ["Edit", "Archiveaa…", "Back"]]
  assert.deepEqual(shown, [list, ["The fact", "old"], list, ["Archive", "No model sees it."], list, ["Archive", "No model sees it."]])
  await sleep(20)
  assert.deepEqual(since(asked, "command/execute").map(({ params }) => params!.arguments), ["", "memory 1 edit new words", "memory 1 archive"])

  const long = "A long fact.\n".repeat(20)
  fake.follow(answer({ page: { text: long, choices } }))
  run()
  await until(() => opencode.texts.length === 1)
  assert.deepEqual(opencode.texts[0], ["magicctx", long, "enter goes on · esc closes · ↑/↓ scrolls"])
  opencode.solid.press({ name: "return" })
  await until(() => shown.length === 7)
  assert.deepEqual(shown[6], ["magicctx", ["Edit", "Archiveaa…", "Back"]])
})

test("without Solid, the commands work and nothing fails", async (t) => {
  fake.follow({})
  const opencode = new FakeScreen()
  await screen(opencode.api, () => Promise.reject(new Error("Cannot find module")))
  t.after(() => opencode.close())
  assert.equal(opencode.palette.size, 4)
  assert.deepEqual(Object.keys(opencode.slots), [])
})

// The symptom: OpenCode showed "freed 6." at the end of a line, and "8k" in the next one.
test("a line breaks at a blank, and not after the dot of a number", () => {
  assert.equal(wrapped("frees at most 13.9k tokens\nand more", 17), "frees at most\n13.9k tokens\nand more")
})

test("the bar shows each source in proportion, the free room, and the size of the next bust", () => {
  const part = (source: "system" | "tools", tokens: number) => ({ source, name: source, tokens, size: "" })
  const bar = (parts: Array<ReturnType<typeof part>>, window: number, bust = 0) => barOf({ ...panel, parts, window, bust }, 10)
  assert.deepEqual(bar([part("system", 20), part("tools", 30)], 100), [["system", 2], ["tools", 3], ["room", 5]])
  assert.deepEqual(bar([part("system", 20), part("tools", 30)], 100, 65), [["system", 2], ["tools", 3], ["room", 1], ["bust", 1], ["room", 3]])
  assert.deepEqual(bar([part("system", 90), part("tools", 60)], 100, 100), [["system", 6], ["bust", 1], ["tools", 3]], "a prompt above the window fills the bar")
  assert.deepEqual(bar([], 0), [["room", 10]])
})
