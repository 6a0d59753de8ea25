import assert from "node:assert/strict"
import { test } from "node:test"
import { statusLine } from "@magicctx/shim-core"
import { instanceOf } from "../src/home.ts"
import { shimNotifications } from "../../shim-core/test/generated/goldens.ts"
import { Screen } from "../src/ui.ts"
import { fake, load, user } from "./fake-pi.ts"

const status = { ...shimNotifications["session/changed"], harness: "pi" } as const

test("a host that writes no line is an older one", () => {
  const { panel: _, ...older } = status
  assert.equal(statusLine(older), "magicctx")
})

test("the host is asked for the status once for each session, and none without a screen", async (t) => {
  const { pi, received } = await load(t, {}, { results: { "session/status": status } })
  for (let i = 1; i <= 3; i++) await pi.pass([user("one", i)])
  assert.deepEqual(received("session/subscribe").map(({ params }) => params), [{ harness: "pi", session: pi.session }])
  const { pi: printing, received: asked } = await load(t, {}, {}, (pi) => (pi.hasUI = false))
  await printing.pass([user("one")])
  assert.deepEqual([asked("session/subscribe"), asked("session/status"), printing.statuses], [[], [], []])
})

test("the line follows the host's notifications", async (t) => {
  const { pi } = await load(t)
  fake.follow({ tell: { "session/transform": ["session/changed", { ...status, session: pi.session }] } })
  await pi.pass([user("one")])
  assert.equal(pi.statuses.at(-1), "magicctx 45% of 200k · 7 taken out · saved $1.50 … /ctx-status")
})

test("the line shows the open session, and no other", async (t) => {
  const { pi } = await load(t)
  const instance = instanceOf(pi.cwd)
  instance.changed({ ...status, session: pi.session })
  instance.changed({ ...status, session: pi.session, harness: "opencode", panel: { ...status.panel!, line: "of another harness" } })
  instance.changed({ ...status, session: "another", panel: { ...status.panel!, line: "of another session" } })
  assert.equal(pi.statuses.at(-1), "magicctx 45% of 200k · 7 taken out · saved $1.50 … /ctx-status")
})

test("the warnings of the host are shown once, in one notice", async (t) => {
  const { pi } = await load(t, { warnings: Array.from({ length: 7 }, (_, i) => `key ${i} is wrong`) })
  for (let i = 1; i <= 2; i++) await pi.pass([user("one", i)])
  assert.equal(pi.notices.length, 1)
  const lines = pi.notices[0]!.split("\n")
  assert.deepEqual(lines.slice(0, -1), ["warning: key 0 is wrong", "key 1 is wrong", "key 2 is wrong"])
  assert.match(lines.at(-1)!, /^There are 4 more warnings\. To learn more, run: \S+ doctor$/)
})

test("trouble at the start is shown, and says when the tools will be there", async (t) => {
  const { pi } = await load(t, { enabled: false, trouble: true, reason: "the disk is full" })
  assert.equal(pi.notices.length, 1)
  assert.match(pi.notices[0]!, /the disk is full.*(its tools and commands|resumes by itself)/i)
  assert.equal(pi.statuses.at(-1), "magicctx is not working")
  fake.follow({})
  await pi.pass([user("one")])
  assert.equal(pi.statuses.at(-1), "magicctx")
})

test("trouble at the start ends without a request, as soon as a host can be started", async (t) => {
  const { pi } = await load(t, {}, { deadly: "initialize" })
  assert.equal(pi.statuses.at(-1), "magicctx is not working")
  fake.follow({})
  await fake.until(() => pi.statuses.at(-1) === "magicctx")
  assert.equal(pi.banners.at(-1), undefined)
})

test("what is shown before the session starts waits for its screen, and a screen that is gone does no harm", () => {
  const shown: string[] = []
  const screen = new Screen()
  screen.notify("early", "info")
  const ui = { notify: (text: string) => void shown.push(text), setStatus: () => assert.fail("stale"), setWidget: () => {}, select: async () => undefined, confirm: async () => false, editor: async () => undefined, custom: async () => {} }
  screen.attach({ ui, hasUI: true })
  screen.status("x")
  screen.attach({ ui, hasUI: false })
  screen.notify("silent", "info")
  assert.deepEqual(shown, ["early"])
})

test("the widget follows the open session, and a new session begins without one", async (t) => {
  const { pi } = await load(t)
  fake.follow({ tell: { "session/transform": ["session/changed", { ...status, session: pi.session }] } })
  await pi.pass([user("one")])
  assert.deepEqual(pi.banners.at(-1), status.panel!.widget)
  fake.follow({ errors: { "session/status": { code: -32602, message: "unknown" } } })
  await pi.shutdown("new")
  await pi.start("new", "another")
  assert.equal(pi.banners.at(-1), undefined)
})

test("the view has the lines of the host for its width, scrolls, follows the session, and closes", async (t) => {
  const screen = ["one", "two", "three", "four", "five", "six"]
  const { pi, received } = await load(t, { commands: [{ name: "ctx-status", description: "Shows." }] }, { results: { "session/status": { ...status, screen } } })
  const open = pi.commands.get("ctx-status")!.handler("", pi.context())
  const view = pi.view!
  const lines = async (columns: number) => {
    const before = pi.draws
    view.render(columns)
    await fake.until(() => pi.draws > before)
    return view.render(columns)
  }
  const help = "↑/↓ scrolls · esc or q closes"
  assert.deepEqual(await lines(60), ["one", "two", "three", "four", help])
  assert.deepEqual(received("session/status").at(-1)!.params, { harness: "pi", session: pi.session, columns: 60 })
  view.handleInput("j")
  view.handleInput("\x1b[6~")
  assert.deepEqual(view.render(60), ["three", "four", "five", "six", help])
  fake.follow({ results: { "session/status": { ...status, screen: ["changed"] } } })
  const before = pi.draws
  instanceOf(pi.cwd).changed({ ...status, session: pi.session })
  await fake.until(() => pi.draws > before)
  assert.deepEqual(view.render(60), ["changed", "", "", "", help])
  view.handleInput("/") // the first key of the next prompt
  assert.equal(view.render(60).at(-1), help)
  view.handleInput("q")
  await open
  assert.equal(received("command/execute").length, 0)
  const asked = received("session/status").length
  instanceOf(pi.cwd).changed({ ...status, session: pi.session })
  pi.mode = "rpc"
  await pi.commands.get("ctx-status")!.handler("", pi.context())
  assert.equal(received("command/execute").length, 1, "without a terminal, the answer is a notice")
  assert.equal(received("session/status").length, asked, "a closed view asks for nothing")
})
