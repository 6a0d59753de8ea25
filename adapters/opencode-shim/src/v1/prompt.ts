import { within } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Message, Params } from "./opencode.ts"
import { children, outputOf, stepsOf, type Sessions } from "./sessions.ts"

/** OpenCode ignores a new array, so the messages become the wire in place. */
export async function transform(instance: Instance, _: unknown, { messages }: { messages: Message[] }): Promise<void> {
  const session = messages[0]?.info.sessionID
  if (!session) return
  if (children.has(session)) return endBehindLastStep(instance, session, messages)
  const { directory, passes, sessions } = instance
  sessions.passReads(session, messages)
  // OpenCode's own compaction passes a copy of the older messages, and not the session's array.
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

/** OpenCode itself only asks the model to stop, and never ends the turn if the model keeps calling tools. */
async function endBehindLastStep({ client }: Instance, session: string, messages: readonly Message[]): Promise<void> {
  if (messages.filter(({ info }) => info.role === "assistant").length < (stepsOf.get(session) ?? Infinity)) return
  stepsOf.set(session, 0)
  // The request must not be sent, so the hook waits for the abort. If the abort fails, the run ends at its deadline.
  await within(abortMS, client.session.abort({ path: { id: session } }).catch(() => {}))
}

/**
 * A provider adds a budget for thinking to the bound of the answer, so the agent gets no such budget. If OpenCode
 * sets no bound, the provider does not support one, and the shim sets none.
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
 * The prompts of OpenCode's own agents (title, summary, compaction) begin with these words. The host has the same
 * list.
 */
const asideOpenings = ["You are a title generator.", "Summarize what was done in this conversation.", "You are a context summarization agent."]

/**
 * Requests of OpenCode's own agents carry the session's id, but share neither its messages nor its prefix. The
 * request for a title runs during the first step, and its hook comes between the hooks of that step. It usually goes
 * to a small model; otherwise, its prompt identifies it.
 */
function isAside(sessions: Sessions, session: string, { model }: SystemInput, system: readonly string[]): boolean {
  const asked = sessions.lastConversation(session).model
  const isOtherModel = model !== undefined && asked !== undefined && (model.id !== asked.modelID || model.providerID !== asked.providerID)
  return sessions.aside.has(session) || isOtherModel || asideOpenings.some((opening) => system[0]?.trimStart().startsWith(opening))
}
