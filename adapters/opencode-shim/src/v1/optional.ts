import { Method, timeoutMS } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { UserMessage } from "./opencode.ts"

/** OpenCode calls this before it stores a prompt of the user. */
export async function chatMessage(instance: Instance, input: { sessionID: string }, output: { message: UserMessage; parts: unknown[] }): Promise<void> {
  instance.sessions.compacting.delete(input.sessionID) // OpenCode has announced a compaction, but never sent its request
  const [first] = output.parts as { text?: string }[]
  const line = instance.sessions.typedFor(input.sessionID, output.parts)
  if (line) instance.passes.typed(input.sessionID, output.message.id, line)
  await instance.sessions.prompted(input.sessionID, output.message, first?.text)
}

export async function textComplete(instance: Instance, input: { sessionID: string; messageID?: string }, output: { text: string }): Promise<void> {
  const { sessionID: session, messageID: message } = input
  if (!instance.wants(Method.TextComplete) || instance.sessions.hidden.has(session)) return
  const sent = instance.passes.sent(session)
  const params = { session, text: output.text, ...(sent && message && { message, sent }) }
  const answer = await instance.host.call(Method.TextComplete, params, { timeoutMS: timeoutMS.hook })
  output.text = answer.text
}
