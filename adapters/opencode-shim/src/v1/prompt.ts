import { within } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Message, Params } from "./opencode.ts"
import { children, outputOf, stepsOf, type Sessions } from "./sessions.ts"

/** OpenCode ignores a new array, so transform changes the given array into the wire. */
export async function transform(instance: Instance, _: unknown, { messages }: { messages: Message[] }): Promise<void> {
  const session = messages[0]?.info.sessionID
  if (!session) return
  if (children.has(session)) return endBehindLastStep(instance, session, messages)
  const { directory, passes, sessions } = instance
  sessions.passReads(session, messages)
  // OpenCode's own compaction calls this hook with a copy of older messages, which is not the session's array.
  if (sessions.compacting.delete(session)) {
    sessions.aside.add(session)
    return
  }
  sessions.aside.delete(session)
  const { agent } = sessions.conversation(session, messages)
  instance.showNotices()
  const enabled = await instance.ready()
  if (!enabled) {
    instance.mark(session)
    if (instance.isInTrouble) await passes.withoutHost(messages, session)
    else passes.withoutPass(session)
    return
  }
  if (enabled.agents.some((hidden) => hidden.name === agent)) {
    sessions.hidden.add(session)
    return
  }
  sessions.hidden.delete(session)
  try {
    const parent = await sessions.parent(session)
    await passes.run(messages, { session, directory, ...(parent && { parent }) }, enabled)
    instance.mark(session)
  } catch (err) {
    passes.withoutPass(session)
    throw err
  }
}

const abortMS = 1_000

/**
 * Ends a hidden agent after its last step. OpenCode's own step limit is not enough: at that limit, OpenCode only asks
 * the model to stop. It never ends a model that continues to call tools.
 */
async function endBehindLastStep({ client }: Instance, session: string, messages: readonly Message[]): Promise<void> {
  if (messages.filter(({ info }) => info.role === "assistant").length < (stepsOf.get(session) ?? Infinity)) return
  stepsOf.set(session, 0)
  // OpenCode sends the request after this hook, so the hook waits for the abort. If the abort fails, the deadline ends
  // the run.
  await within(abortMS, client.session.abort({ path: { id: session } }).catch(() => {}))
}

/**
 * Limits the answers of a hidden agent. Providers add the budget for thinking to this limit, so `params` also removes
 * this budget. If OpenCode sets no maxOutputTokens, the provider does not support such a limit.
 */
export function params({ sessionID }: { sessionID: string }, output: Params): void {
  const most = outputOf.get(sessionID)
  if (most === undefined) return
  if (output.maxOutputTokens) output.maxOutputTokens = Math.min(output.maxOutputTokens, most)
  for (const name of ["thinking", "reasoningConfig"] as const) if (output.options?.[name]?.budgetTokens) delete output.options[name]
}

interface SystemInput {
  sessionID?: string
  model?: { id: string; providerID: string }
}

export async function system(instance: Instance, input: SystemInput, output: { system: string[] }): Promise<void> {
  const { directory, passes, sessions, systems } = instance
  const { sessionID: session, model } = input
  if (!session || sessions.hidden.has(session)) return
  const params = { session, directory, model: { provider: model?.providerID ?? "", id: model?.id ?? "" }, system: output.system }
  const isConversation = !isAside(sessions, session, input, output.system)
  const { system, kind, refusal } = await systems.ask(params, isConversation)
  if (isConversation) passes.leavesWith(kind, session)
  if (system) output.system.splice(0, output.system.length, ...system)
  if (refusal) throw refusal
}

/**
 * The beginnings of the system prompts of OpenCode's own agents (title, summary, compaction). The host has the same
 * list.
 */
const asideOpenings = ["You are a title generator.", "Summarize what was done in this conversation.", "You are a context summarization agent."]

/**
 * True for requests of OpenCode's own agents, which have the session's id, but neither its messages nor its prefix. For
 * example, OpenCode asks for a title between the hooks of the first step. That request usually goes to a small model.
 * If it goes to the session's model, its system prompt identifies it.
 */
function isAside(sessions: Sessions, session: string, { model }: SystemInput, system: readonly string[]): boolean {
  const asked = sessions.lastConversation(session).model
  const isOtherModel = model !== undefined && asked !== undefined && (model.id !== asked.modelID || model.providerID !== asked.providerID)
  return sessions.aside.has(session) || isOtherModel || asideOpenings.some((opening) => system[0]?.trimStart().startsWith(opening))
}
