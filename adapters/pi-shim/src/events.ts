import { Method, timeoutMS } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { AssistantMessage, Context, Message, TextBlock } from "./pi.ts"
import { hasFailed, keyOf } from "./steps.ts"

export function forward(instance: Instance, session: string, event: { type: string } & Record<string, unknown>, sent?: string): void {
  if (!instance.wants(Method.Event)) return
  instance.host.notify(Method.Event, { session, directory: instance.directory, event, ...(sent && { sent }) })
}

/**
 * Called before Pi stores an answer. The model may have imitated a tag at the start of a text. If the host has removed
 * such a tag, messageEnd returns the changed message, and Pi stores it.
 */
export async function messageEnd<M extends Message>(instance: Instance, message: M, ctx: Context): Promise<{ message: M } | undefined> {
  if (!isAnswer(message)) return undefined
  const session = ctx.sessionManager.getSessionId()
  const isGood = !hasFailed(message)
  // If the provider refuses a request, Pi does not send after_provider_response, although it did send the request. This
  // event shows that the request was sent.
  if (message.stopReason !== "aborted") instance.unsent.delete(session)
  if (isGood) instance.recovering.delete(session)
  const id = keyOf(message)
  const sent = isGood ? instance.passes.sent(session) : undefined
  const { role, api, provider, model, usage, stopReason, errorMessage, timestamp } = message
  // Pi 0.74 may quit while this handler waits for the host. So the event must be sent before the first await.
  forward(instance, session, { type: "message_end", id, message: { role, api, provider, model, usage, stopReason, errorMessage, timestamp } }, sent)
  const content = isGood ? await completed(instance, message, { session, id, sent }) : undefined
  return content && { message: { ...message, content } }
}

interface Answer {
  session: string
  id: string
  sent: string | undefined
}

/**
 * Returns the content of the answer after the host has seen its texts, or undefined if the host has changed none of
 * them.
 */
async function completed(instance: Instance, { content }: Message, { session, id, sent }: Answer): Promise<unknown[] | undefined> {
  if (!Array.isArray(content) || !instance.wants(Method.TextComplete)) return undefined
  let hasChanged = false
  const blocks: unknown[] = []
  for (const block of content as Array<{ type: string }>) {
    if (!isText(block) || !block.text) {
      blocks.push(block)
      continue
    }
    const params = { session, text: block.text, ...(sent && { message: id, sent }) }
    const { text } = await instance.host.call(Method.TextComplete, params, { timeoutMS: timeoutMS.hook })
    hasChanged ||= text !== block.text
    blocks.push(text === block.text ? block : { ...block, text })
  }
  return hasChanged ? blocks : undefined
}

function isAnswer(message: Message): message is Message & AssistantMessage {
  return message?.role === "assistant"
}

function isText(block: { type: string }): block is TextBlock {
  return block?.type === "text"
}
