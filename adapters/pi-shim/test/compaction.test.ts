import assert from "node:assert/strict"
import { test } from "node:test"
import { initialized } from "../../shim-core/test/fakehost.ts"
import { assistant, fake, load, user } from "./fake-pi.ts"

const answer = (more: object = {}) => ({ type: "message", id: "a", message: { role: "assistant", stopReason: "stop", ...more } })
const branch = [
  { type: "model_change", id: "m" },
  { type: "message", id: "u", message: { role: "user" } },
  answer(),
]
const event = (more: object = {}) => ({
  preparation: { tokensBefore: 190_000, settings: { reserveTokens: 16_384 } },
  branchEntries: branch,
  signal: new AbortController().signal,
  ...more,
})
const refused = [...branch, answer({ stopReason: "error", errorMessage: "400 prompt is too long: 210000 tokens > 200000 maximum" })]

test("Pi's compaction by size is cancelled while magicctx works, and one that the user asks for is not", async (t) => {
  const { pi } = await load(t)
  assert.deepEqual(await pi.emit("session_before_compact", event({ reason: "threshold" })), { cancel: true })
  assert.equal(await pi.emit("session_before_compact", event({ reason: "manual" })), undefined)
})

test("Pi's line about a cancelled compaction is replaced, by a sentence once and then by nothing", async (t) => {
  const { pi } = await load(t)
  const threshold = async () => {
    await pi.emit("session_compact_failed", { reason: "threshold", aborted: true })
  }
  await threshold()
  await threshold()
  await threshold()
  assert.equal(pi.notices.length, 3)
  assert.match(pi.notices[0]!, /^info: magicctx keeps this session within its window/)
  assert.deepEqual(pi.notices.slice(1), ["info: ", "info: "])
  pi.mode = "rpc" // in this mode, the user does not see Pi's own line about the compaction
  await threshold()
  assert.equal(pi.notices.length, 3)
})

test("before 0.87 Pi does not say why it compacts, so the shim finds out", async (t) => {
  const { pi } = await load(t, {}, {}, (pi) => (pi.isNew = false))
  assert.deepEqual(await pi.emit("session_before_compact", event()), { cancel: true })
  const small = { preparation: { tokensBefore: 20_000, settings: { reserveTokens: 16_384 } } }
  assert.equal(await pi.emit("session_before_compact", event(small)), undefined, "so small a session is compacted only by its user")
  const { compaction } = await pi.emit("session_before_compact", event({ ...small, branchEntries: refused }))
  assert.equal(compaction.firstKeptEntryId, "u")
})

test("before 0.87 Pi does not say when it has written the line, so the shim waits for it", async (t) => {
  const isTTY = Object.getOwnPropertyDescriptor(process.stdout, "isTTY")
  t.after(() => (isTTY ? Object.defineProperty(process.stdout, "isTTY", isTTY) : delete (process.stdout as Partial<typeof process.stdout>).isTTY))
  const { pi } = await load(t, {}, {}, (pi) => (pi.isNew = false))
  const threshold = async () => {
    assert.deepEqual(await pi.emit("session_before_compact", event()), { cancel: true })
    const before = pi.notices.length
    await new Promise((resolve) => setTimeout(resolve, 20))
    return pi.notices.length - before
  }
  Object.defineProperty(process.stdout, "isTTY", { value: undefined, configurable: true })
  assert.equal(await threshold(), 0, "a program that runs Pi gets no line of Pi")
  Object.defineProperty(process.stdout, "isTTY", { value: true, configurable: true })
  assert.equal((await threshold()) + (await threshold()), 2)
  assert.match(pi.notices[0]!, /^info: magicctx keeps this session within its window/)
  assert.equal(pi.notices[1], "info: ")
})

test("after a refusal Pi gets a compaction that keeps everything, once, and then compacts by itself", async (t) => {
  const { pi } = await load(t)
  const overflow = event({ reason: "overflow", willRetry: true, branchEntries: refused })
  const { compaction } = await pi.emit("session_before_compact", overflow)
  assert.equal(compaction.firstKeptEntryId, "u")
  assert.equal(compaction.tokensBefore, 190_000)
  assert.equal(await pi.emit("session_before_compact", overflow), undefined, "the smaller prompt was refused, too")
  await pi.emit("message_end", { message: assistant([], { stopReason: "stop" }) })
  const again = await pi.emit("session_before_compact", event({ reason: "overflow", branchEntries: [...refused, { ...answer(), id: "later" }] }))
  assert.notEqual(again.compaction.summary, compaction.summary, "Pi finds a compaction by its summary")
})

// If an earlier compaction has summarised messages, Pi no longer sends them. Only the summary still contains something
// of them, so it must stay.
test("what Pi has summarised before stays summarised, and what it has kept stays", async (t) => {
  const { pi } = await load(t)
  const overflow = async (...compactions: object[]) => {
    const branchEntries = [...branch, ...compactions.map((more, i) => ({ type: "compaction", id: `c${i}`, ...more })), { ...answer(), id: "behind" }]
    const { compaction } = await pi.emit("session_before_compact", event({ reason: "overflow", branchEntries }))
    await pi.emit("message_end", { message: assistant([], { stopReason: "stop" }) })
    return compaction as { summary: string; firstKeptEntryId: string }
  }
  const native = await overflow({ summary: "They wrote a parser.", firstKeptEntryId: "a" })
  assert.equal(native.firstKeptEntryId, "a")
  assert.match(native.summary, /^They wrote a parser\.\n\nThe provider refused/)
  const second = await overflow(native)
  assert.match(second.summary, /^They wrote a parser\.\n\nThe provider refused/)
  assert.equal(second.summary.match(/The provider refused/g)!.length, 1)
  const ours = await overflow({ summary: "The provider refused a prompt as too long, and nothing was summarised (entry x).", firstKeptEntryId: "u" })
  assert.match(ours.summary, /^The provider refused/)
  assert.equal((await overflow({ summary: "All gone.", firstKeptEntryId: "c0" })).firstKeptEntryId, "behind")
})

test("Pi compacts as without us while magicctx does not work", async (t) => {
  for (const answer of [{ enabled: false, reason: "disabled" }, { enabled: false, trouble: true, reason: "the disk is full" }]) {
    const { pi } = await load(t, answer)
    assert.equal(await pi.emit("session_before_compact", event({ reason: "threshold" })), undefined)
  }
  const { pi } = await load(t)
  fake.follow({ errors: { "session/transform": { code: -32603, message: "scripted" } }, results: { initialize: initialized } })
  await pi.pass([user("one")])
  assert.equal(await pi.emit("session_before_compact", event({ reason: "threshold" })), undefined)
})
