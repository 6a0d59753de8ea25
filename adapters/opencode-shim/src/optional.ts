import { Method, timeoutMS } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { ToolCall, UserMessage } from "./opencode.ts"

/** The host is called by the hooks below only if it asks for them. */

export async function chatMessage(instance: Instance, input: { sessionID: string }, output: { message: UserMessage; parts: unknown[] }): Promise<void> {
  instance.sessions.compacting.delete(input.sessionID) // the session's compaction never made its request
  const [first] = output.parts as { text?: string }[]
  await instance.sessions.prompted(input.sessionID, output.message, first?.text)
  if (!instance.wants(Method.ChatMessage)) return
  const { message, parts } = output
  const params = { session: input.sessionID, directory: instance.directory, message, parts }
  await instance.host.call(Method.ChatMessage, params, { timeoutMS: timeoutMS.hook })
}

export async function textComplete(instance: Instance, input: { sessionID: string; messageID?: string }, output: { text: string }): Promise<void> {
  const { sessionID: session, messageID: message } = input
  if (!instance.wants(Method.TextComplete) || instance.sessions.hidden.has(session)) return
  const sent = instance.passes.sent(session)
  const params = { session, text: output.text, ...(sent && message && { message, sent }) }
  const answer = await instance.host.call(Method.TextComplete, params, { timeoutMS: timeoutMS.hook })
  output.text = answer.text
}

export async function toolBefore(instance: Instance, input: ToolCall, output: { args: Record<string, unknown> }): Promise<void> {
  if (!instance.wants(Method.ToolBefore)) return
  const params = { session: input.sessionID, tool: input.tool, callId: input.callID, args: output.args }
  const { args } = await instance.host.call(Method.ToolBefore, params, { timeoutMS: timeoutMS.hook })
  if (args === undefined) return
  // The arguments are changed in place, because OpenCode runs the tool with this very object.
  for (const name of Object.keys(output.args)) delete output.args[name]
  Object.assign(output.args, args)
}
