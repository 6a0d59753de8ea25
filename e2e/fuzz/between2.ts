import { common, fork, revert } from "./between.ts"
import { checkpoint } from "./entries.ts"
import { planReminder, Row, userMessage, type Session } from "./opencode.ts"
import type { OpenCode2 } from "./opencode2.ts"
import { chainOf } from "./provider.ts"
import { prose, type Random } from "./random.ts"
import { excerpt } from "./rules.ts"
import type { World } from "./world.ts"

const weights = {
  nothing: 55, instructions: 3, effort: 2, synthetic: 4, shell: 3, plugin: 2, compact: 2, unsavedTag: 1, revert: 7, unstage: 2, fork: 4, switchModel: 5, idle: 7, plan: 5, flush: 4,
  foreign: 1, reload: 1.5, loseDatabase: 0.5, other: 3, warm: 6, cut: 2, abandon: 4,
}

export async function between2(world: World, two: OpenCode2, random: Random): Promise<void> {
  const { session } = world
  // The beta does not report the times of messages. So the host cannot recognise a fork, and a reloaded plugin
  // cannot recognise old messages.
  const what = random.weighted(two.isBeta ? { ...weights, fork: 0, reload: 0 } : weights) // on the beta, a new instance learns nothing of older messages
  if (what !== "nothing") world.note(what)
  switch (what) {
    case "instructions":
      world.instructions++
      return
    case "effort":
      add(world, "effort", random.pick(["high", "low"]))
      return
    case "synthetic": // for example the report of a subagent
    case "shell": {
      const text = prose(random, random.pick([50, 1000, 6000]))
      world.attached.push(text.slice(0, 12))
      add(world, what, what === "shell" ? `The following shell command was executed by the user:\n\nCommand:\nmake\n\nOutput:\n${text}` : text)
      return
    }
    case "plugin": {
      const text = prose(random, random.pick([50, 1000]))
      world.attached.push(text.slice(0, 12))
      add(world, what, text)
      return
    }
    case "compact":
      return compact(world, two, random)
    case "revert":
      if (random.chance(0.5)) two.emit("session.revert.staged", { sessionID: session.id })
      return revert(world, random)
    case "unstage":
      two.emit("session.revert.staged", { sessionID: session.id })
      return two.emit("session.revert.cleared", { sessionID: session.id })
    case "fork":
      await fork(world, random)
      return two.emit("session.forked", { sessionID: world.session.id })
    case "flush":
      world.judge.happened.flush = true // if the flush does not arrive, this does no harm
      return two.command(session, "ctx-flush").catch(() => {})
    case "warm":
      return warm(world, two)
    case "cut":
      two.cut()
      if (random.chance(0.3)) await new Promise((resolve) => setTimeout(resolve, 550)) // until the shim subscribes again
      return
    case "abandon":
      return abandon(world, two, random)
    default:
      return common(world, what, random)
  }
}

/** Adds a message that nobody has typed, with the role user or system. */
export function add(world: World, kind: string, text: string): Row {
  const message = userMessage(world.session, world.ids, world.machine)
  message.info.kind = kind
  message.parts.push({ id: world.ids.next("prt"), sessionID: world.session.id, messageID: message.info.id, type: "text", text, synthetic: true })
  const row = new Row(message)
  world.session.rows.push(row)
  return row
}

/** If a turn was interrupted, OpenCode ends its running calls with an error. */
export function settle({ rows }: Session): void {
  for (const row of rows) {
    for (const { state } of row.message.parts) {
      if (state?.status !== "pending" && state?.status !== "running") continue
      Object.assign(state, { status: "error", error: "Tool execution interrupted" })
      row.changed()
    }
  }
}

/** The part of OpenCode's instructions that changes with time. */
export function instructions(world: World): string {
  return `Today's date: ${new Date(world.machine.now()).toDateString()}\nInstructions from: AGENTS.md, version ${world.instructions}`
}

/** If the instructions have changed, OpenCode tells the model before the next step. */
export function update(world: World, random: Random): void {
  const { session } = world
  const now = instructions(world)
  if (session.told === now) return
  session.told = now
  add(world, "system", `The instructions are now:\n${now}`)
  // The newest prompt may be admitted after the change.
  const { rows } = session
  const last = rows.at(-2)!
  if (last.message.info.role === "user" && random.chance(0.5)) rows.splice(-2, 2, rows.at(-1)!, last)
}

/** After a compaction or a revert, OpenCode renders the instructions again. */
export function renew(world: World): void {
  const { session } = world
  session.baseline = session.told = instructions(world)
}

/** OpenCode's plan plugin adds a reminder to the array of a request, and later stores it as a message. */
export function remind(world: World): Row {
  return add(world, "plugin", planReminder)
}

/** OpenCode compacts the session. The summary comes from the plugin or from OpenCode. */
export async function compact(world: World, two: OpenCode2, random: Random): Promise<void> {
  const { session } = world
  const visible = session.visible()
  if (visible.length < 4) return
  two.emit("session.compaction.started", { sessionID: session.id })
  const reads = visible.slice(0, -random.int(1, 3)) // the newest messages stay as text
  const given = await two.compaction(session, reads.map((row) => row.copy()))
  const baseline = world.judge.baseline
  if (given !== undefined && baseline !== undefined && !given.startsWith(baseline)) world.find("compaction", `the summary does not begin with the head: ${excerpt(given)}`)
  world.note(given === undefined ? "compacted by OpenCode" : "compacted by us")
  const row = add(world, "compaction", checkpoint(given ?? prose(random, random.pick([300, 1500])), random.chance(0.5) ? prose(random, 600) : ""))
  row.message.info.summary = true
  renew(world)
  world.plugin.tell("session.compacted", { sessionID: session.id })
}

/**
 * Sends a request that only keeps the cached prefix alive. It must begin with the same messages as the last
 * request.
 */
async function warm(world: World, two: OpenCode2): Promise<void> {
  if (world.session.rows.length === 0) return
  const { turns, raw, system } = await two.warm(world.session)
  world.judge.warm(chainOf({ system, turns }), raw, world.session.model)
}

/** The user interrupts a turn at once and sends another prompt. */
function abandon(world: World, two: OpenCode2, random: Random): void {
  settle(world.session)
  const message = userMessage(world.session, world.ids, world.machine)
  message.parts.push({ id: world.ids.next("prt"), sessionID: world.session.id, messageID: message.info.id, type: "text", text: prose(random, random.pick([50, 500])) })
  world.session.rows.push(new Row(message))
  two.abandon(world.session)
}
