import { result, within, type AgentRunParams, type AgentRunResult } from "@magicctx/shim-core"
import { isAlive } from "../alive.ts"
import { factOf, listOf, type Fact } from "./facts.ts"
import type { Event, ModelRef, PluginContext, SessionError } from "./opencode2.ts"

const abortMS = 5_000

interface HiddenRun {
  readonly system: string
  /** How many requests the agent may still make. */
  left: number
  /** How many tokens an answer may have. */
  readonly maxOutput: number
  /**
   * Ends the turn when the agent has no request left. OpenCode has a limit of steps, too, but at this limit it only asks
   * the model to stop.
   */
  stop(): void
  /** The answers so far, by message id, from events. */
  readonly answers: Map<string, { info: Fact; text: string }>
  error: SessionError | undefined
  /** Called when the turn has ended. */
  end(): void
}

/**
 * The runs of hidden agents in all instances of this process, by session. Runs are not removed at their end, because
 * events about their sessions may still arrive.
 */
export const hiddenRuns = new Map<string, HiddenRun>()

export const lastModels = new Map<string, ModelRef>()

/**
 * Runs a hidden agent in a session without a parent. If the session had a parent, OpenCode would start a turn in the
 * parent when the agent's session ends. The agent can use no tool: the context hook removes all tools from its
 * requests, and the session's permissions deny every call.
 */
export async function runAgent({ session, location, storage }: PluginContext, params: AgentRunParams, signal: AbortSignal): Promise<AgentRunResult> {
  const { directory, system, prompt, title, keep, steps, maxOutput } = params
  const model = modelOf(params)
  const created = await session.create({
    title: `magicctx: ${title}`,
    location: { directory: location?.directory ?? directory },
    permissions: [{ action: "*", resource: "*", effect: "deny" }],
    ...(model && { model }),
  })
  const { id } = created
  let end = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const stop = () => void session.interrupt({ sessionID: id }).catch(() => {})
  const run: HiddenRun = { system, left: steps ?? Infinity, maxOutput: maxOutput ?? Infinity, stop, answers: new Map(), error: undefined, end }
  hiddenRuns.set(id, run)
  try {
    await storage?.set(keyOf(id), process.pid).catch(() => {})
    if (!signal.aborted) await session.prompt({ sessionID: id, text: prompt })
    const aborted = new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })))
    // All versions report the end of the turn by an event. Some have `wait`, which also resolves if the event is lost.
    await Promise.race([ended, aborted, ...(session.wait ? [session.wait({ sessionID: id })] : [])])
    if (signal.aborted) {
      await session.interrupt({ sessionID: id }).catch(() => {})
      await within(abortMS, ended)
    }
    await store(session, id, run)
    const answers = [...run.answers].map(([id, { info, text }]) => ({ id, info, message: { id, role: "assistant", content: [{ type: "text", text }] } }))
    const spent = run.left < 0 ? `the agent has used up its ${steps} steps` : undefined
    return result(answers, signal.aborted ? "aborted" : (spent ?? (run.error && harnessError(run.error))))
  } finally {
    if (!keep) await session.remove?.({ sessionID: id }).catch(() => {})
    await storage?.remove(keyOf(id)).catch(() => {})
  }
}

const keyOf = (id: string) => `${prefix}${id}`
const prefix = "hidden/"

/** Removes the sessions of hidden agents whose process ended during a run. `storage` contains their process ids. */
export async function removeOrphans({ session, storage }: PluginContext): Promise<void> {
  if (!storage || !session.remove) return
  for (const { key, value } of (await storage.scan({ prefix })).entries) {
    const id = key.slice(prefix.length)
    if (hiddenRuns.has(id) || (value !== process.pid && isAlive(Number(value)))) continue
    await session.remove({ sessionID: id }).catch(() => {}) // OpenCode may have removed it
    await storage.remove(key)
  }
}

/**
 * Reads the answers from the session's messages, because some events may have been lost. If this version of OpenCode
 * cannot return messages, the answers from the events stay.
 */
async function store(session: PluginContext["session"], id: string, run: HiddenRun): Promise<void> {
  for (const message of listOf(await session.context?.({ sessionID: id }).catch(() => undefined))) {
    if (message.type !== "assistant") continue
    const text = (message.content ?? []).flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("\n")
    run.answers.set(message.id, { info: factOf(message), text })
    run.error ??= message.error
  }
}

export function noteHidden(run: HiddenRun, { type, created, data }: Event): void {
  const { assistantMessageID: id, model, tokens, finish, error, text } = data
  if (id !== undefined) {
    const answer = run.answers.get(id) ?? { info: { type: "assistant" }, text: "" }
    run.answers.set(id, answer)
    if (model) Object.assign(answer.info, { providerID: model.providerID, modelID: model.id })
    if (tokens) answer.info.tokens = tokens
    if (finish) answer.info.finish = finish
    if (created !== undefined) answer.info.created ??= created
    if (type === "session.text.ended" && text) answer.text += (answer.text && "\n") + text
  }
  if (error && type !== "session.retry.scheduled") run.error = error
  if (type.startsWith("session.execution.") && type !== "session.execution.started") run.end()
}

function modelOf({ model, session }: AgentRunParams): ModelRef | undefined {
  if (!model) return lastModels.get(session)
  const slash = model.indexOf("/")
  return { providerID: model.slice(0, slash), id: model.slice(slash + 1) }
}

function harnessError({ type, message, status, response }: SessionError): object {
  return { name: type === "aborted" ? "MessageAbortedError" : type, data: { message, ...(status && { statusCode: status }), ...(response && { responseBody: response.body }) } }
}
