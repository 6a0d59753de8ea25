import { between2, renew } from "./between2.ts"
import { fork as copyOf, Row, userMessage } from "./opencode.ts"
import type { PiPlugin } from "./pi.ts"
import { models } from "./provider.ts"
import { prose, type Random } from "./random.ts"
import { minute, type World } from "./world.ts"

const betweens = {
  nothing: 70, late: 3, foreign: 2, compact: 1.5, unsavedTag: 1, revert: 7, fork: 4, switchModel: 5, idle: 7, flush: 4, plan: 6, instructions: 1.5, prune: 1.5, reload: 1, loseDatabase: 0.5, other: 3,
}
/**
 * What can happen between two turns in Pi. Nothing prunes outputs or changes messages there, but the user moves in the
 * session's tree.
 */
const piBetweens = { ...betweens, plan: 0, prune: 0, late: 0, foreign: 0, revert: 0, unsavedTag: 0, tree: 12, command: 6 }

export async function between(world: World, random: Random): Promise<void> {
  if (world.two) return between2(world, world.two, random)
  const what = random.weighted<keyof typeof piBetweens>(world.isPi ? piBetweens : { ...betweens, tree: 0, command: 0 })
  if (what !== "nothing") world.note(what)
  switch (what) {
    case "revert":
      return revert(world, random)
    case "late":
      return late(world, random)
    case "compact":
      return compact(world, random)
    case "tree":
      return tree(world, random)
    case "command":
      return command(world, random)
    case "fork":
      return fork(world, random)
    case "flush":
      return flush(world)
    case "instructions":
      world.instructions++
      for (const judge of world.judges.values()) judge.happened.systemChanged = true
      return
    case "prune":
      return prune(world, random)
    default:
      return common(world, what, random)
  }
}

export async function common(world: World, what: "nothing" | "unsavedTag" | "foreign" | "switchModel" | "idle" | "plan" | "reload" | "loseDatabase" | "other", random: Random): Promise<void> {
  switch (what) {
    case "unsavedTag":
      return unsavedTag(world, random)
    case "foreign":
      return foreign(world, random)
    case "switchModel":
      world.session.model = random.chance(0.5) ? models[0]! : random.pick(models)
      return
    case "idle":
      return world.machine.move(random.pick([2, 4, 6, 7, 20, 70, 26 * 60]) * minute)
    case "plan":
      world.session.agent = world.session.agent === "plan" ? "build" : "plan"
      return
    case "reload":
      if (world.isUnheard) return // without the answer's end, nobody would know its prompt (-seed 730036)
      await new Promise((done) => setTimeout(done, 50)) // until the host has read the event of the last answer (-seed 720237)
      await world.plugin.dispose()
      await world.plugin.load(world.server)
      for (const judge of world.judges.values()) judge.happened.reloaded = true
      return
    case "loseDatabase":
      world.machine.loseDatabase()
      for (const judge of world.judges.values()) judge.databaseLost()
      return
    case "other":
      world.session = random.pick([...world.sessions.values()])
      world.refusals.clear()
      return
  }
}

/** OpenCode stores the text of an aborted answer late. */
function late(world: World, random: Random): void {
  const aborted = world.session.rows.filter(({ message: { info } }) => info.error?.name === "MessageAbortedError")
  if (aborted.length === 0) return
  const row = random.pick(aborted)
  const { info, parts } = row.message
  parts.push({ id: world.ids.next("prt"), sessionID: info.sessionID, messageID: info.id, type: "text", text: prose(random, random.pick([50, 500, 2000])) })
  row.changed()
  world.plugin.updated(row)
}

function foreign(world: World, random: Random): void {
  const prompts = world.session.rows.filter((row) => row.isPrompt && row.message.parts[0]?.type === "text")
  if (prompts.length === 0) return
  const row = random.pick(prompts)
  const { info, parts } = row.message
  const text = prose(random, random.pick([50, 500]))
  world.attached.push(text.slice(0, 12))
  const its = parts.find((part) => part.synthetic)
  if (its) its.text = text
  else parts.push({ id: world.ids.next("prt"), sessionID: info.sessionID, messageID: info.id, type: "text", text, synthetic: true, isAttached: true })
  row.changed()
  world.plugin.updated(row)
}

/** The user goes back to an older message and starts a new branch, or returns to the branch that was left last. */
async function tree(world: World, random: Random): Promise<void> {
  const { session } = world
  const { rows, branch } = session
  const users = rows.flatMap((row, i) => (row.message.info.role === "user" && i > 0 ? [i] : []))
  if (branch && random.chance(0.6)) session.rows = branch
  else if (users.length > 0) session.rows = rows.slice(0, random.pick(users))
  else return
  session.branch = rows
  await (world.plugin as PiPlugin).moved(session)
}

/** The user runs a shell command. Its output is either shown to the model or withheld from it. */
function command(world: World, random: Random): void {
  const message = userMessage(world.session, world.ids, world.machine)
  const text = prose(random, random.pick([50, 1000, 6000]))
  const ignored = random.chance(0.5)
  ;(ignored ? world.withheld : world.attached).push(text.slice(0, 12))
  message.parts.push({ id: world.ids.next("prt"), sessionID: world.session.id, messageID: message.info.id, type: "text", text, synthetic: true, bash: { command: `make ${random.id(4)}` }, ...(ignored && { ignored }) })
  world.session.rows.push(new Row(message))
}

/** The user runs OpenCode's compaction. It keeps either the newest turns or nothing. */
async function compact(world: World, random: Random): Promise<void> {
  const { session } = world
  const visible = session.visible()
  if (visible.length < 6) return
  const { has } = world.plugin
  const prompts = visible.filter(({ message: { info, parts } }) => info.role === "user" && parts[0]?.type === "text")
  const kept = random.chance(0.5) ? prompts.at(-random.int(1, 3)) : undefined
  const request = new Row(userMessage(session, world.ids, world.machine))
  const { info, parts } = request.message
  parts.push({ id: world.ids.next("prt"), sessionID: session.id, messageID: info.id, type: "compaction", auto: false, ...(kept && { tail_start_id: kept.id }) })
  world.plugin.updated(request)
  if (world.isPi) await world.plugin.settled()
  const reads = visible.slice(0, kept ? visible.indexOf(kept) : undefined).map((row) => row.copy())
  await world.guarded("session.compacting", (has as { "experimental.session.compacting"?: (i: object, o: object) => Promise<void> })["experimental.session.compacting"]?.({ sessionID: session.id }, { context: [] }))
  if (!world.isPi) await world.guarded("messages.transform", has["experimental.chat.messages.transform"]!({}, { messages: reads }))
  session.rows.push(request)
  const summary = world.newAssistant()
  Object.assign(summary.message.info, { summary: true, mode: "compaction", agent: "compaction", finish: "stop", parentID: info.id })
  summary.message.info.time.completed = world.machine.now()
  summary.message.parts.push({ id: world.ids.next("prt"), sessionID: session.id, messageID: summary.id, type: "text", text: prose(random, random.pick([300, 1500])) })
  summary.changed()
  session.rows.push(summary)
  if (!world.isPi) world.plugin.updated(summary) // Pi sends no event at the end of a summary
  world.plugin.tell("session.compacted", { sessionID: session.id })
}

/**
 * Reverts the newest turns, and removes their rows at once. The real OpenCode removes the rows only when the user sends
 * the next prompt.
 */
export function revert(world: World, random: Random): void {
  const { rows } = world.session
  const users = rows.flatMap((row, i) => (row.isPrompt ? [i] : []))
  if (users.length < 2) return
  // In most cases, only up to three turns are removed.
  const back = random.chance(0.6) ? random.int(1, Math.min(3, users.length - 1)) : random.int(1, users.length - 1)
  for (const row of rows.splice(users.at(-back)!)) world.plugin.tell("message.removed", { sessionID: world.session.id, messageID: row.id })
  if (world.two) renew(world)
}

/**
 * While the database is locked, the host gives tags that it cannot store, and the model uses one of them. Then the host
 * is killed, and the user reverts the turn.
 */
async function unsavedTag(world: World, random: Random): Promise<void> {
  world.isUnsaved = true
  await world.turn(random)
  world.isUnsaved = false
  world.machine.kill(world.machine.processes().flatMap(({ pid, is }) => (is === "host" ? [pid] : [])))
  const last = world.session.rows.findLastIndex((row) => row.isPrompt)
  for (const row of world.session.rows.splice(last)) world.plugin.tell("message.removed", { sessionID: world.session.id, messageID: row.id })
}

export async function fork(world: World, random: Random): Promise<void> {
  const original = world.session
  if (original.rows.length < 4) return
  const users = original.rows.flatMap((row, i) => (row.isPrompt ? [i] : [])).slice(1)
  const before = random.chance(0.6) || users.length === 0 ? original.rows.length : random.pick(users)
  const { copy, copied } = copyOf(original, before, world.ids)
  world.open(copy)
  copy.agent = original.agent
  world.judge.happened.lastUse ||= 0
  world.judges.get(copy.id)!.copyOf(world.judge, copied)
  world.judges.get(copy.id)!.happened.lastUse = world.judge.happened.lastUse
  world.plugin.tell("session.created", { sessionID: copy.id, info: { ...world.sessionInfo(copy), title: "a session (fork #1)" } })
  for (const row of copy.rows) world.plugin.updated(row)
  world.session = copy
  world.refusals.clear() // no event tells the host of the copy that its newest prompt was refused in the original (-seed 6021)
  // A real user forks only after the host has received the event of the last answer. The host does not order the calls
  // of different sessions, so without this pause the fork could overtake the event (-seed 100211).
  await new Promise((resolve) => setTimeout(resolve, 50))
}

async function flush(world: World): Promise<void> {
  try {
    await world.plugin.has["command.execute.before"]!({ command: "ctx-flush", sessionID: world.session.id, arguments: "" }, { parts: [] })
  } catch {
    // The hook always throws, because OpenCode has no other way to end a command.
  }
  world.judge.happened.flush = true // if the flush did not arrive, this does no harm
}

/** Prunes old outputs, as OpenCode does if the user has switched pruning on. */
function prune(world: World, random: Random): void {
  const old = world.session.rows.slice(0, Math.floor(world.session.rows.length / 2))
  const which = random.weighted({ all: 4, some: 3, empty: 3 })
  for (const row of old) {
    for (const { state } of row.message.parts) {
      if (which === "some" && random.chance(0.7)) continue
      if (which === "empty" && state?.output !== "") continue
      if (state?.status === "completed" && !state.time!.compacted) {
        state.time!.compacted = world.machine.now()
        row.changed()
        world.judge.happened.pruned = true
      }
    }
  }
}
