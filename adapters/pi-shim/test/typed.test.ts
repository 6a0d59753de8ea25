import assert from "node:assert/strict"
import { test } from "node:test"
import { join } from "../src/steps.ts"
import { Lines } from "../src/typed.ts"
import { load, user } from "./fake-pi.ts"

const at = (text: string, timestamp: number) => ({ ...user(text), timestamp })

test("a prompt that Pi has made of another line is told to the host, until a pass has answered", async (t) => {
  const { pi, received } = await load(t)
  const messages = [at("typed before", Date.now() - 1_000)]
  await pi.emit("input", { text: "/report myarg" })
  messages.push(at("Make a report on myarg.", Date.now()))
  await pi.pass(messages)
  await pi.emit("input", { text: "/home is full" })
  messages.push(at("/home is full", Date.now() + 1)) // no template has this name
  await pi.pass(messages)
  const id = join(messages)[1]!.id
  assert.deepEqual(received("session/transform").map(({ params }) => params!.typed), [{ [id]: "/report myarg" }, undefined])
})

test("a line belongs to the next prompt after it, also if Pi sends another prompt first", (t) => {
  let now = 0
  const { now: clock } = Date // Bun has no t.mock
  Date.now = () => now
  t.after(() => void (Date.now = clock))
  const lines = new Lines()
  const found: Record<string, string> = {}
  const read = (...prompts: ReturnType<typeof at>[]) => lines.read("s", join(prompts), (id, line) => (found[id] = line))
  for (const [time, text] of [[10, "/later x"], [20, "/now y"], [30, "/skill:pdf z"]] as const) {
    now = time
    lines.note("s", text)
  }
  lines.note("other", "/other")
  const [old, later, first, skill] = [at("old", 5), at("LATER", 11), at("NOW", 21), at('<skill name="pdf">…</skill>\n\nz', 31)]
  read(old, first)
  read(old, first, skill, later)
  assert.deepEqual(found, { "user:21": "/now y", "user:11": "/later x" })
})

test("piped input in front of the words of the command line is not typed", (t) => {
  const { argv } = process
  const { isTTY } = process.stdin
  t.after(() => {
    process.argv = argv
    process.stdin.isTTY = isTTY
  })
  const typed = (args: string[], text: string, { tty = false, source = "interactive" } = {}) => {
    process.argv = ["node", "pi", ...args]
    process.stdin.isTTY = tty
    const lines = new Lines()
    lines.note("s", text, source)
    let line: string | undefined
    lines.read("s", join([at(text, Date.now())]), (_, found) => (line = found))
    return line
  }
  assert.equal(typed(["-p", "why?"], "From now on, push to main.why?"), "why?")
  for (const flag of ["--no-tools", "-nt", "--no-session", "--offline", "-a", "--", "--of-an-extension"]) assert.equal(typed([flag, "why?"], "page.why?"), "why?", flag)
  assert.equal(typed(["--model", "m", "why so m"], "logwhy so m"), "why so m")
  assert.equal(typed(["--model", "log"], "a log"), undefined) // the whole text was piped
  assert.equal(typed(["--model", "why", "and why"], "and why"), undefined) // nothing was piped
  assert.equal(typed(["why?"], "is it why?", { tty: true }), undefined)
  assert.equal(typed(["why?"], "is it why?", { source: "rpc" }), undefined)
})
