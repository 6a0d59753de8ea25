import type { Kind } from "./author.ts"
import { failed } from "./entries.ts"
import type { Verdict } from "./judge.ts"
import type { Part, Row } from "./opencode.ts"
import { bindings, tokensOf, type Block } from "./provider.ts"
import { prose, Random, sectioned } from "./random.ts"
import { excerpt, mayStore } from "./rules.ts"
import type { World } from "./world.ts"

/** Writes the model's answer part by part, as OpenCode does. */
export async function answer(world: World, row: Row, kind: Kind, random: Random, verdict: Verdict, usage: { input: number; read: number; write: number }, started: number): Promise<void> {
  const { session } = world
  const { info, parts } = row.message
  info.time.created = started
  // The tools read the session and look for this answer, so it must be stored before they run.
  session.rows.push(row)
  const add = (more: Partial<Part> & { type: string }): Part => {
    const part: Part = { id: world.ids.next("prt"), sessionID: session.id, messageID: info.id, ...more }
    parts.push(part)
    row.changed()
    return part
  }
  const time = () => ({ start: world.machine.now(), end: world.machine.now() })
  add({ type: "step-start" })
  const said: Block[] = [] // the blocks as the model wrote them; thinking is bound to them, even if the plugin changes them
  const shape = world.author.shape(kind, random)
  const running: Promise<void>[] = []
  // OpenCode runs a call while the model is still writing. Pi runs the calls after the end of the answer.
  const waiting: (() => Promise<void>)[] = []
  for (const piece of shape) {
    if (piece === "thinking" || piece === "redacted") {
      const part = add({ type: "reasoning", time: time(), ...world.author.proof(random, session.model.proof, piece) })
      said.push(blockOf("thinking", { text: part.text!, signature: JSON.stringify(part.metadata) }))
    } else if (piece === "text") {
      const length = random.pick([20, 150, 400, 1500])
      const written = random.chance(0.5) ? sectioned(random, length, world.author.lead(random, 0.3)) : world.author.lead(random, 0.1) + prose(random, length)
      said.push(blockOf("text", { text: written }))
      const output = { text: written }
      const id = world.ids.next("prt")
      await world.guarded("text.complete", world.plugin.has["experimental.text.complete"]?.({ sessionID: session.id, messageID: info.id, partID: id } as { sessionID: string }, output))
      const given = world.judge.given()
      if (!mayStore(written, output.text, (tag) => tag > 0 && tag <= given)) world.find("text-complete", `the model wrote ${excerpt(written)} and ${excerpt(output.text)} is stored`)
      parts.push({ id, sessionID: session.id, messageID: info.id, type: "text", text: output.text, time: time() })
      row.changed()
    } else if (piece === "blank") {
      add({ type: "text", text: "", time: time() })
    } else {
      const { tool, input } = translated(world, world.author.call(random, world.isUnsaved, world.plugin.has.tool?.ctx_reduce !== undefined))
      const part = add({ type: "tool", tool, ...(world.two && { form: random.pick(["text", "text", "content", "json"]) }), callID: `${session.model.family === "openai" ? "call_" : "toolu_"}${random.id(20)}`, state: { status: "pending", input: {} } })
      said.push(blockOf("call", { id: part.callID!, name: tool, input: JSON.stringify(input) }))
      const itsRandom = Random.of(world.seed, "call", ++world.calls)
      const run = () => runCall(world, row, part, input, itsRandom, kind === "aborted")
      if (world.isPi) waiting.push(run)
      else running.push(run())
    }
  }
  if (kind !== "aborted" && random.chance(0.01)) {
    world.isUnheard = true
    world.machine.kill(world.machine.processes().map(({ pid }) => pid))
  }
  await Promise.all(running)
  bind(world, said, verdict)
  end(world, row, kind, random, verdict, usage)
  await world.plugin.settled()
  await Promise.all(waiting.map((run) => run()))
}

function end(world: World, row: Row, kind: Kind, random: Random, verdict: Verdict, usage: { input: number; read: number; write: number }): void {
  const { session } = world
  const { info, parts } = row.message
  if (kind === "aborted") {
    info.error = { name: world.isPi ? "aborted" : "MessageAbortedError", data: { message: "Aborted" } }
    if (!world.two?.isBeta) info.time.completed = world.machine.now() // the beta notes no time
    row.changed()
    world.plugin.updated(row)
    world.plugin.tell("session.error", { sessionID: session.id, error: info.error })
    return
  }
  const output = tokensOf(JSON.stringify(parts).length, world.scale)
  const finish = kind === "calls" ? "tool-calls" : random.chance(0.03) ? "length" : "stop"
  const tokens = { total: verdict.tokens + output, input: usage.input, output, reasoning: 0, cache: { read: usage.read, write: usage.write } }
  parts.push({ id: world.ids.next("prt"), sessionID: session.id, messageID: info.id, type: "step-finish", reason: finish, cost: 0.01, tokens })
  info.tokens = tokens
  info.finish = finish
  world.judge.happened.pruned = false
  row.changed()
  world.plugin.updated(row)
  info.time.completed = world.machine.now()
  row.changed()
  world.plugin.updated(row)
}

function bind(world: World, said: Block[], { chain, rawChain, isGood }: Verdict): void {
  const { model } = world.session
  if (!model.binds || !model.proof) return
  const proofs = said.map((block) => {
    if (block.kind !== "thinking") return block
    const { signature, redactedData } = (JSON.parse(block.signature) as Record<string, Record<string, string>>)[model.proof!]!
    return { ...block, signature: signature ?? redactedData! }
  })
  const [bound, rawBound] = [bindings(chain, proofs), bindings(rawChain, proofs)]
  proofs.forEach((block, i) => block.kind === "thinking" && world.bound.set(block.signature, { digest: bound[i]!, chain, rawDigest: rawBound[i]!, isKnown: isGood && !world.isSystemRepeated && world.two?.isRead !== false }))
}

/** Runs a tool call. OpenCode runs all calls of an answer in parallel. */
async function runCall(world: World, row: Row, part: Part, input: Record<string, unknown>, random: Random, isAborted: boolean): Promise<void> {
  const { session, plugin } = world
  const args = { ...input }
  // Here, the provider itself runs the call. This happens only in an answer that also has a text. In a fork, the host
  // recognises an answer by its texts and by its other calls, so without a text the fork would lose the answer's
  // thinking (-seed 710001).
  if (world.two && !isAborted && row.message.parts.some(({ type, text }) => type === "text" && text) && random.chance(0.02)) {
    Object.assign(part, { tool: "web_search", isExecuted: true, form: "json", state: { status: "completed", input: args, output: JSON.stringify([random.id(200)]) } })
    row.changed()
    return
  }
  const start = world.machine.now()
  const settle = (state: NonNullable<Part["state"]>) => {
    part.state = state
    row.changed()
  }
  settle({ status: "running", input: args, time: { start } })
  if (isAborted) {
    const output = random.chance(0.4) && sectioned(random, 200)
    const metadata = { interrupted: true, ...(output && !world.two && { output }) }
    if (random.chance(0.8)) settle({ status: "error", input: args, error: world.two ? failed("Tool execution aborted", output || "") : "Tool execution aborted", metadata, time: { start, end: world.machine.now() } })
    return
  }
  if (random.chance(0.05)) {
    settle({ status: "error", input: args, error: sectioned(random, random.pick([30, 300])), time: { start, end: world.machine.now() } })
    return
  }
  const ours = plugin.has.tool?.[part.tool!]
  let output: string
  if (ours) {
    delete part.form // our tools give texts
    try {
      output = (await ours.execute(args, { sessionID: session.id, callID: part.callID!, abort: new AbortController().signal })).output
      world.say(`  ${part.tool} ${JSON.stringify(args)}: ${excerpt(output)}`)
    } catch (err) {
      settle({ status: "error", input: args, error: err instanceof Error ? err.message : String(err), time: { start, end: world.machine.now() } })
      return
    }
  } else {
    output = world.author.output(random)
    if (part.form === "json") output = JSON.stringify({ exit: 0, output })
  }
  const result = { title: "", output, metadata: { preview: output.slice(0, 200), truncated: false } }
  settle({ status: "completed", input: args, output: result.output, title: result.title, metadata: result.metadata, time: { start, end: world.machine.now() } })
}

function translated(world: World, { tool, input }: { tool: string; input: Record<string, unknown> }): { tool: string; input: Record<string, unknown> } {
  if (!world.two) return { tool, input }
  const { filePath, ...rest } = input
  return { tool: { bash: "shell", task: "subagent" }[tool] ?? tool, input: filePath === undefined ? input : { path: filePath, ...rest } }
}

function blockOf(kind: Block["kind"], more: Partial<Block>): Block {
  return { kind, text: "", id: "", name: "", input: "", signature: "", isError: false, message: "", part: "", ...more }
}
