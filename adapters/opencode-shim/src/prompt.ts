import { Method, RpcError } from "@magicctx/shim-core"
import { timeoutMS, type Instance } from "./instance.ts"
import type { Message } from "./opencode.ts"
import type { Sessions } from "./sessions.ts"

/** Turns the messages of one LLM request into the wire, in place: OpenCode ignores another array. */
export async function transform(instance: Instance, _: unknown, { messages }: { messages: Message[] }): Promise<void> {
  const session = messages[0]?.info.sessionID
  if (!session) return
  const { directory, sessions } = instance
  // OpenCode's own compaction passes a copy of the head, which is not the session's array.
  if (sessions.compacting.delete(session)) return
  const { agent } = sessions.conversation(session, messages)
  instance.watched()
  const enabled = await instance.ready()
  if (!enabled) {
    if (instance.isInTrouble) await instance.passes.withoutHost(messages, session)
    return
  }
  if (enabled.agents.some((hidden) => hidden.name === agent)) {
    sessions.hidden.add(session)
    return
  }
  sessions.hidden.delete(session)
  const parent = await sessions.parent(session)
  await instance.passes.run(messages, { session, directory, ...(parent && { parent }) }, enabled)
}

interface SystemInput {
  sessionID?: string
  model?: { id: string; providerID: string }
}

/** Replaces the system prompt of one LLM request, in place. */
export async function system(instance: Instance, input: SystemInput, output: { system: string[] }): Promise<void> {
  const { directory, enabled, host, sessions } = instance
  const { sessionID: session, model } = input
  if (!(enabled || instance.isInTrouble) || !session || sessions.hidden.has(session)) return
  const params = { session, directory, model: { provider: model?.providerID ?? "", id: model?.id ?? "" }, system: output.system }
  const call = enabled
    ? host.call(Method.System, params, { timeoutMS: Math.min(timeoutMS.system, enabled.transformTimeoutMs) })
    : Promise.reject(new Error("no host"))
  const answer = await answered(sessions, session, JSON.stringify(params), call)
  if (answer) output.system.splice(0, output.system.length, ...answer)
}

/**
 * The host's answer, or, when none comes, the last one to the same question: a
 * prompt without our part would be another prefix, and cost the whole of it.
 */
async function answered(sessions: Sessions, session: string, question: string, call: Promise<{ system?: string[] }>): Promise<string[] | undefined> {
  try {
    const { system } = await call
    if (system) sessions.systems.set(session, { question, system })
    return system
  } catch (err) {
    const last = sessions.systems.get(session)
    if (last?.question === question) return last.system
    if (err instanceof RpcError) throw err
    return undefined // the pass has told that there is no host
  }
}
