import { result, within, type AgentRunParams, type AgentRunResult } from "@magicctx/shim-core"
import { isAlive } from "../alive.ts"
import { data } from "./callbacks.ts"
import type { Client, PromptBody, Response } from "./opencode.ts"
import { children, outputOf, owner, stepsOf, type Sessions } from "./sessions.ts"

const abort = { everyMS: 500, times: 10 } as const

/**
 * Runs a hidden agent in a child session. If `keep` is not set, the session is deleted at the end. The session gets a
 * title, because OpenCode asks the model for a title if a session has none.
 */
export async function runAgent(client: Client, sessions: Sessions, params: AgentRunParams, signal: AbortSignal): Promise<AgentRunResult> {
  const { session: parentID, agent, system, tools, prompt, steps, maxOutput } = params
  const model = modelOf(params, sessions)
  const { id } = await data(client.session.create({ body: { parentID, title: `magicctx: ${params.title} (process ${process.pid})` } }))
  children.set(id, undefined)
  if (steps) stepsOf.set(id, steps)
  if (maxOutput) outputOf.set(id, maxOutput)
  const path = { id }
  try {
    const body: PromptBody = {
      agent,
      system,
      // OpenCode appends these rules to the agent's own rules, and the last rule that matches a tool counts. So only
      // the tools in the list are allowed.
      tools: { "*": false, ...Object.fromEntries(tools.map((tool) => [tool, true])) },
      parts: [{ type: "text", text: prompt, synthetic: true }],
      ...(model && { model }),
    }
    const running: Response<unknown> = signal.aborted ? Promise.resolve({}) : client.session.prompt({ path, body })
    await untilAborted(running, signal)
    // The shim must abort the turn. If it only stopped waiting, OpenCode would continue the turn and spend money.
    for (let tries = 0; signal.aborted && tries < abort.times; tries++) {
      await client.session.abort({ path })
      if (await within(abort.everyMS, running)) break
    }
    const error = signal.aborted ? "aborted" : (await running).error
    const messages = (await data(client.session.messages({ path }))) as ChildMessage[]
    // `children` has the error that OpenCode reported with the event session.error. It can be more exact than the error
    // in the answer, for example if the model is unknown.
    const isSpent = stepsOf.get(id) === 0
    return resultOf(messages, error && (children.get(id) ?? error), isSpent ? `the agent has used up its ${steps} steps` : undefined)
  } finally {
    children.set(id, undefined)
    stepsOf.delete(id)
    outputOf.delete(id)
    if (!params.keep) await client.session.delete({ path })
  }
}

function modelOf({ model, session }: AgentRunParams, sessions: Sessions): PromptBody["model"] {
  if (!model) return sessions.lastConversation(session).model
  const slash = model.indexOf("/")
  return { providerID: model.slice(0, slash), modelID: model.slice(slash + 1) }
}

function untilAborted(running: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return Promise.race([running, new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))])
}

interface ChildMessage {
  info: { role: string; error?: unknown }
  parts: { type: string }[]
}

/** If the shim itself ended the run, `ended` is the reason and replaces OpenCode's error. */
function resultOf(messages: readonly ChildMessage[], error: unknown, ended?: string): AgentRunResult {
  const answers = messages.flatMap(({ info, parts }) => (info.role === "assistant" ? [{ info, parts: parts.filter(({ type }) => type === "text") }] : []))
  return result(answers, ended ?? answers.at(-1)?.info.error ?? error)
}

/**
 * Deletes the child sessions that a killed process has left behind. A session's title contains the id of the process
 * that created it. A new process may have the same id by chance. So a session is also deleted a day after its last
 * change, even if a process with its id is running.
 */
export async function removeOrphans(client: Client): Promise<void> {
  for (const info of await data(client.session.list({ query: { search: "magicctx: " } }))) {
    const pid = owner(info)
    if (!pid || children.has(info.id)) continue
    const isOrphan = pid === process.pid || !isAlive(pid) || info.time.updated < Date.now() - dayMS
    if (isOrphan) await client.session.delete({ path: { id: info.id } })
  }
}

const dayMS = 86_400_000
