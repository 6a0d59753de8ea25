// Converts the steps of an OpenCode 2 session to steps of Pi, so that the judge can apply its rules for Pi to them.
// This works because both harnesses build the same request from a conversation: the shim of OpenCode 2 removes blank
// texts, as Pi does, and an update of the system prompt becomes a text of the user. There is one difference: OpenCode 2
// also sends the texts of a failed answer.
import type { Step as PiStep } from "./pi.ts"

interface Part {
  type: string
  text?: string
  encrypted?: string
  providerMetadata?: unknown
  id?: string
  name?: string
  input?: Record<string, unknown>
  providerExecuted?: boolean
  mediaType?: string
  media?: { mediaType: string }
  result?: { type: string; value: unknown }
}

interface Message {
  role: string
  content: Part[]
}

export interface Step {
  id: string
  info?: { providerID?: string; modelID?: string; asked?: { provider?: string; model?: string } }
  /** Absent if the step was removed from the wire. */
  message?: Message
  results?: Message[]
}

/**
 * Stands for the content of every image. A request must contain an image's content, but the judge does not look at it.
 */
const pixel = "iVBORw0KGgo="

export function asPi({ id, info, message, results }: Step): PiStep {
  if (!message) return { id }
  const provider = info?.asked?.provider ?? info?.providerID
  const model = info?.asked?.model ?? info?.modelID
  const role = message.role === "assistant" ? "assistant" : "user"
  return {
    id,
    message: { role, content: message.content.flatMap(block), ...(provider && { provider }), ...(model && { model }) },
    ...(results && { results: results.map(result) }),
  }
}

type Block = Exclude<NonNullable<NonNullable<PiStep["message"]>["content"]>, string>[number]

function block(p: Part): Block[] {
  // If the provider itself has run a call, its result is in the same answer, and no separate message with the result
  // may follow. So the judge gets both as texts.
  if (p.providerExecuted) return [{ type: "text", text: JSON.stringify(p.input ?? p.result?.value ?? "") }]
  switch (p.type) {
    case "text":
      return [{ type: "text", text: p.text ?? "" }]
    case "reasoning": {
      const proof = p.providerMetadata ?? p.encrypted
      return [{ type: "thinking", thinking: p.text ?? "", ...(proof !== undefined && { thinkingSignature: JSON.stringify(proof), redacted: p.text === "" }) }]
    }
    case "tool-call":
      return [{ type: "toolCall", id: p.id ?? "", name: p.name ?? "", arguments: p.input ?? {} }]
    case "media":
      return [{ type: "image", data: pixel, mimeType: p.media?.mediaType ?? p.mediaType ?? "" }]
  }
  return [{ type: p.type }]
}

function result({ content: [part] }: Message): NonNullable<PiStep["results"]>[number] {
  const { type, value } = part?.result ?? { type: "text", value: "" }
  const items = type === "content" ? (value as Array<{ type: string; text?: string; mime?: string }>) : [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }]
  const content = items.map((item) => (item.type === "text" ? { type: "text", text: item.text ?? "" } : { type: "image", data: pixel, mimeType: item.mime ?? "" }))
  return { role: "toolResult", toolCallId: part?.id ?? "", isError: type === "error", content }
}
