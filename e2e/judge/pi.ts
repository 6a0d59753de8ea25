// Converts the steps of Pi to the body of the request that Pi would send to the provider. Recorded requests of Pi show
// this body (docs/pi.md). A step is an answer with its results, or any other single message.
import type { Body, ConverterName } from "./convert.ts"
import type { Evidence } from "./evidence.ts"

interface Block {
  type: string
  text?: string
  thinking?: string
  thinkingSignature?: string
  redacted?: boolean
  id?: string
  name?: string
  arguments?: Record<string, unknown>
  data?: string
  mimeType?: string
}

interface PiMessage {
  role: string
  content?: string | Block[]
  provider?: string
  model?: string
  stopReason?: string
  toolCallId?: string
  isError?: boolean
  command?: string
  output?: string
  excludeFromContext?: boolean
  summary?: string
}

export interface Step {
  id: string
  /** Absent if the step was removed from the wire. */
  message?: PiMessage
  results?: PiMessage[]
}

/**
 * For each converter: the dialect in which Pi talks to the provider. A converter that is missing here stands for a
 * provider that Pi does not support.
 */
const dialects: Partial<Record<ConverterName, "anthropic" | "responses" | "chat">> = {
  anthropic: "anthropic",
  vertex: "anthropic",
  gateway: "anthropic",
  openai: "responses",
  "openai-chat": "chat",
  copilot: "chat",
  "openai-compatible": "chat",
}

export const speaks = (name: ConverterName): boolean => name in dialects

/** The content may be a string. */
const blocks = (content: PiMessage["content"]): Block[] => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []))
const isBlank = (text: string | undefined): boolean => !text?.trim()

/** Returns Pi's own array: the message of each step, followed by its results. Removed steps are left out. */
function flatten(steps: Step[]): PiMessage[] {
  return steps.flatMap((s) => {
    if (!s.message) return []
    // Pi would leave out a failed answer, but send the results of its calls. The shim removes these results, too.
    if (isFailed(s.message) || s.message.excludeFromContext) return []
    return [asText(s.message), ...(s.results ?? [])]
  })
}

/**
 * Converts a message with one of Pi's own roles to a text of the user. The exact words that Pi adds around it do not
 * matter here.
 */
function asText(m: PiMessage): PiMessage {
  if (m.role === "bashExecution") return { ...m, content: `Ran \`${m.command}\`\n\`\`\`\n${m.output}\n\`\`\`` }
  return m.summary === undefined ? m : { ...m, content: `<summary>\n${m.summary}\n</summary>` }
}

const isFailed = (m: PiMessage): boolean => m.stopReason === "error" || m.stopReason === "aborted"

/**
 * Returns the messages as Pi prepares them for a model: the thinking of any other model becomes a text, and a call
 * without a result gets one.
 */
function prepare(steps: Step[], asked: PiMessage | undefined): PiMessage[] {
  const all: PiMessage[] = []
  let open: Block[] = []
  const close = (): void => {
    for (const call of open) all.push({ role: "toolResult", toolCallId: call.id ?? "", content: [{ type: "text", text: "No result provided" }], isError: true })
    open = []
  }
  for (const m of flatten(steps)) {
    if (m.role === "toolResult") {
      open = open.filter((call) => call.id !== m.toolCallId)
      all.push(m)
      continue
    }
    close()
    if (m.role !== "assistant") {
      all.push(m)
      continue
    }
    const isSame = m.provider === asked?.provider && m.model === asked?.model
    const content = blocks(m.content).flatMap((b): Block[] => {
      if (b.type !== "thinking" || isSame) return [b]
      return b.redacted || isBlank(b.thinking) ? [] : [{ type: "text", text: b.thinking ?? "" }]
    })
    open = content.filter((b) => b.type === "toolCall")
    all.push({ ...m, content })
  }
  close()
  return all
}

/**
 * Returns the newest message that names a model. In Pi, a prompt names no model, so this is the newest answer. But a
 * test may put a model into a prompt.
 */
const askedBy = (raw: Step[]): PiMessage | undefined => raw.findLast((s) => s.message?.model)?.message

/** Returns the body of the request that Pi would send for `steps`. The array `raw` names the model. */
export function convertPi(name: ConverterName, steps: Step[], raw: Step[]): Body {
  const asked = askedBy(raw)
  const all = prepare(steps, asked)
  switch (dialects[name]) {
    case "anthropic":
      return toAnthropic(all)
    case "responses":
      return toResponses(all)
    default:
      return toChat(all)
  }
}

/**
 * Brings the messages of a captured request into the form of convertPi's output: texts are blocks, neighbouring
 * messages of one role are joined, and there are no breakpoints.
 */
export function sentByPi(body: Body): Body[] {
  const messages: Body[] = []
  for (const m of body.messages.filter((m: Body) => m.role !== "system" && m.role !== "developer")) {
    if (m.role !== "user" && !Array.isArray(m.content)) {
      messages.push(m)
      continue
    }
    const content = blocks(m.content).map(({ cache_control: _, ...block }: Body) => block)
    const last = messages.at(-1)
    if (last?.role === m.role && Array.isArray(last.content)) last.content.push(...content)
    else messages.push({ ...m, content })
  }
  return messages
}

function toAnthropic(all: PiMessage[]): Body {
  const messages: { role: string; content: Body[] }[] = []
  for (const m of all) {
    const role = m.role === "assistant" ? "assistant" : "user"
    const content = m.role === "toolResult" ? [anthropicResult(m)] : blocks(m.content).flatMap(anthropicBlock)
    if (content.length === 0) continue
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...content) // Anthropic does the same with neighbours of one role
    else messages.push({ role, content })
  }
  return messages.length === 0 ? undefined : { system: "You are a coding agent.", thinking: { type: "enabled" }, messages }
}

function anthropicResult(m: PiMessage): Body {
  const content = blocks(m.content)
  const texts = content.filter((b) => b.type === "text").map((b) => b.text ?? "")
  const images = content.filter((b) => b.type === "image").flatMap(anthropicBlock)
  const text = texts.join("\n")
  return { type: "tool_result", tool_use_id: m.toolCallId, is_error: m.isError ?? false, content: images.length === 0 ? text : [{ type: "text", text: isBlank(text) ? "(see attached image)" : text }, ...images] }
}

function anthropicBlock(b: Block): Body[] {
  switch (b.type) {
    case "text":
      return isBlank(b.text) ? [] : [{ type: "text", text: b.text }]
    case "image":
      return [{ type: "image", source: { type: "base64", media_type: b.mimeType, data: b.data } }]
    case "thinking":
      if (b.redacted) return [{ type: "redacted_thinking", data: b.thinkingSignature }]
      if (b.thinkingSignature) return [{ type: "thinking", thinking: b.thinking, signature: b.thinkingSignature }]
      return isBlank(b.thinking) ? [] : [{ type: "text", text: b.thinking }]
    case "toolCall":
      return [{ type: "tool_use", id: b.id, name: b.name, input: b.arguments ?? {} }]
  }
  return []
}

const url = (b: Block): string => `data:${b.mimeType};base64,${b.data}`

function toResponses(all: PiMessage[]): Body {
  const input = all.flatMap((m): Body[] => {
    if (m.role === "toolResult") {
      const text = blocks(m.content).filter((b) => b.type === "text").map((b) => b.text ?? "").join("\n")
      return [{ type: "function_call_output", call_id: m.toolCallId, output: text || "(see attached image)" }]
    }
    if (m.role !== "assistant") {
      const content = blocks(m.content).flatMap((b): Body[] => {
        if (b.type === "text") return [{ type: "input_text", text: b.text }]
        return b.type === "image" ? [{ type: "input_image", image_url: url(b) }] : []
      })
      return content.length === 0 ? [] : [{ role: "user", content }]
    }
    return blocks(m.content).flatMap((b): Body[] => {
      switch (b.type) {
        case "text":
          return [{ type: "message", role: "assistant", content: [{ type: "output_text", text: b.text }] }]
        case "thinking":
          return b.thinkingSignature ? [{ type: "reasoning", id: `rs_${b.thinkingSignature}`, encrypted_content: b.thinkingSignature, summary: isBlank(b.thinking) ? [] : [{ text: b.thinking }] }] : []
        case "toolCall":
          return [{ type: "function_call", call_id: b.id, name: b.name, arguments: JSON.stringify(b.arguments ?? {}) }]
      }
      return []
    })
  })
  return input.length === 0 ? undefined : { store: false, input }
}

function toChat(all: PiMessage[]): Body {
  const messages = all.flatMap((m): Body[] => {
    const content = blocks(m.content).filter((b) => b.type !== "text" || !isBlank(b.text))
    const text = content.filter((b) => b.type === "text").map((b) => b.text ?? "")
    if (m.role === "toolResult") return [{ role: "tool", tool_call_id: m.toolCallId, content: text.join("\n") || "(no tool output)" }]
    if (m.role === "assistant") {
      const calls = content.filter((b) => b.type === "toolCall").map((b) => ({ id: b.id, type: "function", function: { name: b.name, arguments: JSON.stringify(b.arguments ?? {}) } }))
      if (text.length === 0 && calls.length === 0) return []
      return [{ role: "assistant", content: text.length > 0 ? text.join("") : null, ...(calls.length > 0 ? { tool_calls: calls } : {}) }]
    }
    const parts = content.flatMap((b): Body[] => {
      if (b.type === "text") return [{ type: "text", text: b.text }]
      return b.type === "image" ? [{ type: "image_url", image_url: { url: url(b) } }] : []
    })
    return parts.length === 0 ? [] : [{ role: "user", content: parts }]
  })
  return messages.length === 0 ? undefined : { messages: [{ role: "system", content: "You are a coding agent." }, ...messages] }
}

/**
 * Collects the evidence in an array. Only the asked model's thinking counts, because the thinking of other models
 * reaches the provider as a text.
 */
export function evidenceOfPi(raw: Step[], binds: boolean): Evidence {
  const e: Evidence = { binds, proofs: new Map(), runs: [], ofCall: new Map() }
  const asked = askedBy(raw)
  for (const m of flatten(raw)) {
    if (m.role !== "assistant") continue
    const isSame = m.provider === asked?.provider && m.model === asked?.model
    const all: string[] = []
    let run: string[] = []
    for (const b of blocks(m.content)) {
      const proof = b.type === "thinking" && isSame ? b.thinkingSignature : undefined
      if (proof) {
        e.proofs.set(proof, (e.proofs.get(proof) ?? new Set()).add(b.thinking ?? ""))
        all.push(proof)
        run.push(proof)
      } else if (b.type !== "thinking" || b.thinking) {
        if (run.length > 1) e.runs.push(run)
        run = []
      }
      if (b.type === "toolCall" && b.id) e.ofCall.set(b.id.replace(/[^a-zA-Z0-9_-]/g, "_"), all).set(b.id, all)
    }
    if (run.length > 1) e.runs.push(run)
  }
  return e
}
