import assert from "node:assert/strict"
import { test } from "node:test"
import { initialized } from "../../../shim-core/test/fakehost.ts"
import { fake, load, pass, textOf, user } from "./fake-opencode.ts"

const full = { ...initialized, enabled: false, trouble: true, reason: "the disk is full" }

test("an episode of trouble shows one notice, and ends with a pass that works", async (t) => {
  const { hooks, opencode } = await load(t)
  const turn = async (text: string) => textOf(await pass(hooks, [user("u1", "one", {}, "ses_t"), user("u2", text, {}, "ses_t")]))
  assert.deepEqual(await turn("two"), ["§u1§ one", "§u2§ two"])
  // The test counts the notices in OpenCode's log, which contains each notice at once. It cannot count toasts, because
  // a second toast waits until the first one is over.
  const notices = () => opencode.logged.filter((text) => text.startsWith("magicctx is not working"))
  for (const episode of [1, 2]) {
    fake.follow({ errors: { "session/transform": { code: -32011, message: "the disk is full" } }, results: { initialize: full } })
    // The pass fails, so the shim applies the patches of the last good pass. The patch of u2 still fits, although the
    // text of u2 has changed.
    for (let i = 0; i < 3; i++) assert.deepEqual(await turn("changed"), ["§u1§ one", "§u2§ changed"])
    assert.equal(notices().length, episode)
    assert.match(notices().at(-1)!, /the disk is full/)
    fake.follow({})
    assert.deepEqual(await turn(`three ${episode}`), ["§u1§ one", `§u2§ three ${episode}`])
    assert.equal(notices().length, episode)
  }
})

// A fixed bug: if the patch of a single message did not fit, the shim sent all messages raw, even those with dropped
// content.
test("without an answer, a message that its patch no longer fits stays raw, and the others keep their patches", async (t) => {
  const { hooks } = await load(t)
  const turn = async (parts: unknown[]) => {
    const [a, b, c] = [user("u1", "one", {}, "ses_r"), user("u2", "", {}, "ses_r"), user("u3", "three", {}, "ses_r")] as const
    b.parts = parts
    return (await pass(hooks, [a, b, c])).map(({ parts }) => parts.map((part) => (part as { text: string }).text))
  }
  const reminder = () => ({ id: `prt_${Math.random()}`, type: "text", text: "you are in plan mode", synthetic: true })
  const own = { id: "prt_own", type: "text", text: "two" }
  assert.deepEqual(await turn([reminder(), { ...own }]), [["§u1§ one"], ["§u2§ you are in plan mode", "two"], ["§u3§ three"]])
  fake.follow({ errors: { "session/transform": { code: -32603, message: "scripted" } } })
  assert.deepEqual(await turn([]), [["§u1§ one"], [], ["§u3§ three"]])
  // The user's text is now at the index that the reminder had before. The reminder's patch would fit this text, but
  // must not change it.
  assert.deepEqual(await turn([{ ...own }]), [["§u1§ one"], ["two"], ["§u3§ three"]])
  assert.deepEqual(await turn([{ ...own }, reminder()]), [["§u1§ one"], ["two", "§u2§ you are in plan mode"], ["§u3§ three"]])
  fake.follow({})
})

test("every pass asks a host again that was in trouble at the start", async (t) => {
  const { hooks, opencode, received } = await load(t, full)
  const turn = async () => textOf(await pass(hooks, [user("u1", "one", {}, "ses_a")]))
  assert.deepEqual(await turn(), ["one"])
  assert.deepEqual(await turn(), ["one"])
  assert.equal(received("initialize").length, 3)
  fake.follow({})
  assert.deepEqual(await turn(), ["§u1§ one"])
  assert.deepEqual(await turn(), ["§u1§ one"])
  assert.equal(received("initialize").length, 4)
  assert.equal(opencode.toasts.length, 1)
})

test("a host that stands down in the middle of a session changes nothing more, and says so once", async (t) => {
  const { hooks, opencode } = await load(t)
  const turn = async () => textOf(await pass(hooks, [user("u1", "one", {}, "ses_s")]))
  assert.deepEqual(await turn(), ["§u1§ one"])
  const off = { ...initialized, enabled: false, reason: "it stands down beside dcp" }
  fake.follow({ errors: { "session/transform": { code: -32011, message: "the host has ended" } }, results: { initialize: off } })
  await turn()
  for (let i = 0; i < 3; i++) assert.deepEqual(await turn(), ["one"])
  assert.deepEqual(opencode.logged.filter((text) => text.includes("stands down")), ["magicctx is off: it stands down beside dcp."])
  fake.follow({})
})

test("the warnings of the host are shown once, in one notice, as soon as the user is there", async (t) => {
  const { hooks, opencode } = await load(t, { warnings: ["the database was damaged", "a key is wrong"] })
  await hooks.event!({ event: { type: "session.idle", properties: { sessionID: "s" } } })
  assert.deepEqual(opencode.toasts, [])
  await pass(hooks, [user("u1", "one", {}, "ses_w")])
  await pass(hooks, [user("u1", "one", {}, "ses_w")])
  assert.deepEqual(opencode.toasts.map(({ message }) => message), ["the database was damaged\na key is wrong"])
})

const idle = (session: string) => ({ event: { type: "session.status", properties: { sessionID: session, status: { type: "idle" } } } })
const settled = () => new Promise((resolve) => setTimeout(resolve, 20))

test("trouble leaves a mark in each session, when its turn ends, and says that OpenCode's compaction is off", async (t) => {
  const { hooks, opencode } = await load(t, full)
  opencode.parents["ses_child"] = "ses_m"
  await hooks.config!({ compaction: { auto: false } })
  for (const session of ["ses_m", "ses_m", "ses_child"]) await pass(hooks, [user("u1", "one", {}, session)])
  await settled()
  assert.equal(opencode.prompts.length, 0, "a mark during the turn makes OpenCode call the model once more")
  for (const session of ["ses_m", "ses_child", "ses_m"]) await hooks.event!(idle(session))
  await settled()
  assert.deepEqual(opencode.prompts.map(({ id }) => id), ["ses_m"], "one mark, and none for the subagent")
  const { noReply, parts } = opencode.prompts[0]!.body
  const { text, ignored } = parts[0]!
  assert.ok(noReply && ignored, "the model does not see the mark")
  assert.match(text, /the disk is full/)
  assert.match(text, /compaction is off/)
  assert.match(opencode.toasts[0]!.message, /run: \S+ doctor\nOpenCode's own compaction is off/, "a command ends with its line")
  fake.follow({})
})

test("trouble that is over when the turn ends leaves no mark", async (t) => {
  const { hooks, opencode } = await load(t, full)
  await pass(hooks, [user("u1", "one", {}, "ses_n")])
  fake.follow({})
  await pass(hooks, [user("u1", "one", {}, "ses_n")])
  await hooks.event!(idle("ses_n"))
  await settled()
  assert.deepEqual(opencode.prompts, [])
  assert.doesNotMatch(opencode.toasts[0]!.message, /compaction is off/)
})

const prompt = (id: string, created: number) => ({ message: { id, time: { created } }, parts: [{ type: "text", text: "next" }] })

// A fixed bug: the shim stored a message in the session to say that its host was missing. This message became newer
// than the prompt that the user had just sent. OpenCode then called the model again, with an array that ended in an
// answer.
test("a prompt that comes while the mark is on its way waits for it, and is newer", async (t) => {
  const { hooks, opencode } = await load(t, full)
  await pass(hooks, [user("u1", "one", {}, "ses_p")])
  const order: string[] = []
  const next = prompt("u2", Date.now() - 1_000)
  let asked: Promise<void> | undefined
  opencode.storing = async (sessionID, { parts }) => {
    // OpenCode also calls this hook for the shim's own message. If the hook waited until this message is stored, the
    // hook and the message would wait for each other forever.
    await hooks["chat.message"]!({ sessionID }, { message: { id: "mark", time: { created: Date.now() } }, parts })
    asked = hooks["chat.message"]!({ sessionID }, next).then(() => void order.push("prompt"))
    await new Promise((resolve) => setTimeout(resolve, 30))
    order.push("mark")
  }
  const before = Date.now()
  await hooks.event!(idle("ses_p"))
  await new Promise((resolve) => setTimeout(resolve, 60))
  await asked
  assert.deepEqual(order, ["mark", "prompt"])
  assert.ok(next.message.time.created > before, "by its time, the mark is the newest message of the user")
  fake.follow({})
})

test("no mark is stored from a prompt to the end of its turn, even if an older turn's end is told late", async (t) => {
  const { hooks, opencode } = await load(t, full)
  const marks = async () => (await settled(), opencode.prompts.length)
  await pass(hooks, [user("u1", "one", {}, "ses_q")])
  await hooks["chat.message"]!({ sessionID: "ses_q" }, prompt("u2", Date.now()))
  await hooks.event!(idle("ses_q")) // this event belongs to the previous turn
  assert.equal(await marks(), 0)
  opencode.busy.add("ses_q")
  await pass(hooks, [user("u1", "one", {}, "ses_q"), user("u2", "next", {}, "ses_q")])
  await hooks.event!(idle("ses_q")) // this event still belongs to the previous turn
  assert.equal(await marks(), 0)
  opencode.busy.delete("ses_q")
  await hooks.event!(idle("ses_q"))
  assert.equal(await marks(), 1)
  fake.follow({})
})
