// A rewrite of the code with which OpenCode 1.18.33 turns its array into a request: toUI creates UI messages, the AI
// SDK converts them to a prompt (convert.ts), and adapt changes this prompt for a provider. TestJudgeConvertsAsOpenCode
// (e2e) compares the results with requests of the real OpenCode.
import type { UIMessage } from "ai"
import type { LanguageModelV3Message, LanguageModelV3Prompt } from "@ai-sdk/provider"

type Json = Record<string, unknown>
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any

/** The real entries of OpenCode's array have more members, which do not influence the request. */
export interface Message {
  info: { id?: string; role: string; providerID?: string; modelID?: string; model?: { providerID?: string; modelID?: string }; error?: { name?: string } }
  parts: Part[]
}

export interface Part {
  id?: string
  type: string
  text?: string
  ignored?: boolean
  synthetic?: boolean
  metadata?: Json
  mime?: string
  url?: string
  filename?: string
  callID?: string
  tool?: string
  state?: {
    status?: string
    input?: unknown
    output?: unknown
    error?: string
    metadata?: Json
    time?: { compacted?: number }
    attachments?: { mime: string; url: string; filename?: string }[]
  }
}

export interface Target {
  /** OpenCode's name for the provider. OpenCode removes the metadata from answers of other providers and models. */
  provider: string
  id: string
  /** The model's id in the provider's API. OpenCode looks for "claude" and "mistral" in it. */
  api: string
  /** The package with which OpenCode speaks to the provider. */
  npm: string
}

const Pruned = "[Old tool result content cleared]"
const Interrupted = "[Tool execution was interrupted]"
const MediaBehind = "Attached media from tool result:"

/** The array's newest user message names the model. */
export function asked(array: Message[]): { provider: string; id: string } {
  const user = array.findLast((m) => m.info.role === "user" && m.info.model?.modelID)
  return { provider: user?.info.model?.providerID ?? "", id: user?.info.model?.modelID ?? "" }
}

/** Converts the array to UI messages, which the SDK's converter reads. */
export function toUI(array: Message[], to: Target): UIMessage[] {
  const all: { id: string; role: string; parts: Any[] }[] = []
  for (const m of array) {
    if (m.info.role === "user") add(all, m.info.id, "user", m.parts.flatMap(userPart))
    else if (m.info.role === "assistant" && !isLeftOut(m)) {
      const behind: Any[] = []
      add(all, m.info.id, "assistant", assistantParts(m, to, behind))
      if (behind.length > 0) add(all, undefined, "user", [{ type: "text", text: MediaBehind }, ...behind])
    }
  }
  return all.filter((m) => m.parts.some((p) => p.type !== "step-start")) as UIMessage[]
}

function add(all: { id: string; role: string; parts: Any[] }[], id: string | undefined, role: string, parts: Any[]): void {
  if (parts.length > 0) all.push({ id: id ?? `m${all.length}`, role, parts })
}

function userPart(p: Part): Any[] {
  switch (p.type) {
    case "text":
      return p.ignored || !p.text ? [] : [{ type: "text", text: p.text }]
    case "file": // synthetic texts beside it hold the content of a text file or a directory
      return p.mime === "text/plain" || p.mime === "application/x-directory" ? [] : [filePart(p)]
    case "compaction":
      return [{ type: "text", text: "What did we do so far?" }]
    case "subtask":
      return [{ type: "text", text: "The following tool was executed by the user" }]
  }
  return []
}

function filePart(p: { mime?: string; url?: string; filename?: string }): Any {
  return { type: "file", url: p.url, mediaType: p.mime, filename: p.filename }
}

/**
 * Whether OpenCode leaves an answer out. It leaves out every answer with an error, except an aborted answer that
 * contains more than thinking.
 */
function isLeftOut(m: Message): boolean {
  if (!m.info.error) return false
  return m.info.error.name !== "MessageAbortedError" || m.parts.every((p) => p.type === "step-start" || p.type === "reasoning")
}

function assistantParts(m: Message, to: Target, behind: Any[]): Any[] {
  const isForeign = m.info.providerID !== to.provider || m.info.modelID !== to.id
  const isSigned = m.parts.some((p) => p.type === "reasoning" && (p.metadata?.anthropic as Any)?.signature != null)
  return m.parts.flatMap((p): Any[] => {
    switch (p.type) {
      case "step-start":
        return [{ type: "step-start" }]
      case "text":
        // OpenCode replaces an empty text between signed blocks with a blank, so that the index of each block stays the
        // same.
        return [{ type: "text", text: p.text === "" && isSigned ? " " : p.text, ...(isForeign ? {} : { providerMetadata: p.metadata }) }]
      case "reasoning":
        if (!isForeign) return [{ type: "reasoning", text: p.text, providerMetadata: p.metadata }]
        return p.text?.trim() ? [{ type: "text", text: p.text }] : []
      case "tool":
        return [toolPart(p, isForeign, to, behind)]
    }
    return []
  })
}

function toolPart(p: Part, isForeign: boolean, to: Target, behind: Any[]): Any {
  const state = p.state ?? {}
  const { providerExecuted, ...metadata } = (p.metadata ?? {}) as Json
  const part: Any = { type: `tool-${p.tool}`, toolCallId: p.callID, input: state.input }
  if (providerExecuted) part.providerExecuted = true
  if (!isForeign && Object.keys(metadata).length > 0) part.callProviderMetadata = metadata
  const output = (value: unknown): Any => ({ ...part, state: "output-available", output: value })
  const failure = (text: unknown): Any => ({ ...part, state: "output-error", errorText: text })
  if (state.status === "completed") {
    if (state.time?.compacted) return output(Pruned)
    const files = state.attachments ?? []
    behind.push(...files.filter((f) => isMedia(f.mime) && !takesMediaInResults(to, f.mime)).map(filePart))
    const kept = files.filter((f) => !isMedia(f.mime) || takesMediaInResults(to, f.mime))
    return output(kept.length > 0 ? { text: state.output, attachments: kept } : state.output)
  }
  if (state.status !== "error") return failure(Interrupted)
  const rest = state.metadata?.interrupted === true ? state.metadata.output : undefined
  return typeof rest === "string" ? output(rest) : failure(state.error)
}

const isMedia = (mime: string): boolean => mime.startsWith("image/") || mime === "application/pdf"

function takesMediaInResults(to: Target, mime: string): boolean {
  const id = to.api.toLowerCase()
  switch (to.npm) {
    case "@ai-sdk/anthropic":
    case "@ai-sdk/openai":
    case "@ai-sdk/google-vertex/anthropic":
      return true
    case "@ai-sdk/amazon-bedrock":
      return mime.startsWith("image/") && ["anthropic.", "nova", "llama4", "llama-4"].some((name) => id.includes(name))
    case "@ai-sdk/google":
      return id.includes("gemini-3")
  }
  return false
}

/** The form in which the model gets a tool's output: a text, or a text with files. */
export function modelOutput({ output }: { output: unknown }): Any {
  if (typeof output === "string") return { type: "text", value: output }
  const { text, attachments } = output as { text?: string; attachments?: { mime: string; url: string }[] }
  const files = (attachments ?? []).filter((f) => f.url.startsWith("data:") && f.url.includes(","))
  return {
    type: "content",
    value: [
      ...(text ? [{ type: "text", text }] : []),
      ...files.map((f) => ({ type: "media", mediaType: f.mime, data: f.url.slice(f.url.indexOf(",") + 1) })),
    ],
  }
}

const namespaces: Record<string, string> = {
  "@ai-sdk/amazon-bedrock": "bedrock",
  "@ai-sdk/anthropic": "anthropic",
  "@ai-sdk/github-copilot": "copilot",
  "@ai-sdk/google": "google",
  "@ai-sdk/google-vertex/anthropic": "anthropic",
  "@ai-sdk/mistral": "mistral",
  "@ai-sdk/openai": "openai",
}

/** Returns the key under which a provider's package looks for its options. */
export const namespaceOf = (npm: string): string | undefined => namespaces[npm]

/** Changes a finished prompt as OpenCode does before it gives the prompt to the provider's package. */
export function adapt(prompt: LanguageModelV3Prompt, to: Target): LanguageModelV3Prompt {
  let all = prompt as Any[]
  all = withoutEmpty(all, to)
  const id = to.api.toLowerCase()
  if (to.api.includes("claude")) renameCalls(all, (call) => call.replaceAll(/[^a-zA-Z0-9_-]/g, "_"))
  if (to.provider === "mistral" || ["mistral", "devstral", "codestral", "pixtral", "mixtral"].some((name) => id.includes(name))) all = forMistral(all)
  // A gateway places breakpoints itself.
  const isClaude = to.provider === "anthropic" || to.provider === "google-vertex-anthropic" || to.npm === "@ai-sdk/anthropic" ||
    [to.api, to.id].some((name) => name.includes("claude") || name.includes("anthropic"))
  if (isClaude && to.npm !== "@ai-sdk/gateway") plantBreakpoints(all, to)
  return renamespace(all, to)
}

/**
 * If the target's package is one of the two below, OpenCode removes empty texts. It also removes thinking that the
 * package could not send, for example thinking without a signature.
 */
function withoutEmpty(all: Any[], to: Target): Any[] {
  const keepsThinking = {
    "@ai-sdk/anthropic": (p: Any): boolean =>
      p.text.trim() !== "" || p.providerOptions?.anthropic?.signature != null || p.providerOptions?.anthropic?.redactedData != null,
    "@ai-sdk/amazon-bedrock": (p: Any): boolean => {
      const proof = p.providerOptions?.[to.provider] ?? p.providerOptions?.bedrock
      return proof?.signature != null || proof?.redactedContent != null || proof?.redactedData != null
    },
  }[to.npm]
  if (!keepsThinking) return all
  return all.flatMap((m) => {
    if (!Array.isArray(m.content)) return m.content === "" ? [] : [m]
    const content = m.content.filter((p: Any) => (p.type === "text" ? p.text !== "" : p.type === "reasoning" ? keepsThinking(p) : true))
    return content.length > 0 ? [{ ...m, content }] : []
  })
}

function renameCalls(all: Any[], rename: (id: string) => string): void {
  for (const m of all) {
    if (Array.isArray(m.content)) for (const p of m.content) if (p.toolCallId) p.toolCallId = rename(p.toolCallId)
  }
}

/** In Mistral's API, the id of a call has nine letters or digits, and no user message may follow a tool message. */
function forMistral(all: Any[]): Any[] {
  renameCalls(all, (call) => call.replaceAll(/[^a-zA-Z0-9]/g, "").slice(0, 9).padEnd(9, "0"))
  return all.flatMap((m, i) =>
    m.role === "tool" && all[i + 1]?.role === "user" ? [m, { role: "assistant", content: [{ type: "text", text: "Done." }] }] : [m],
  )
}

/**
 * Sets breakpoints at the end of the first two system messages, and at the end of the last two messages that are not
 * system messages.
 */
function plantBreakpoints(all: Any[], to: Target): void {
  const system = all.filter((m) => m.role === "system").slice(0, 2)
  const newest = all.filter((m) => m.role !== "system").slice(-2)
  const onMessage = to.provider === "anthropic" || to.provider.includes("bedrock") || to.npm === "@ai-sdk/amazon-bedrock"
  for (const m of [...system, ...newest]) {
    const last = Array.isArray(m.content) ? m.content.at(-1) : undefined
    const at = !onMessage && last ? last : m
    const marks = {
      anthropic: { cacheControl: { type: "ephemeral" } },
      bedrock: { cachePoint: { type: "default" } },
      openaiCompatible: { cache_control: { type: "ephemeral" } },
    }
    at.providerOptions = { ...at.providerOptions }
    for (const [key, mark] of Object.entries(marks)) at.providerOptions[key] = { ...at.providerOptions[key], ...mark }
  }
}

/**
 * Moves options from OpenCode's key to the package's key, and removes ids of items that the provider does not store.
 */
function renamespace(all: Any[], to: Target): LanguageModelV3Message[] {
  const key = namespaceOf(to.npm)
  if (!key) return all
  const forgetsItems = to.npm === "@ai-sdk/openai" || to.npm === "@ai-sdk/github-copilot"
  const fix = (options: Any): Any => {
    if (!options) return options
    const fixed = { ...options }
    if (key !== to.provider && to.provider in fixed) {
      fixed[key] = fixed[to.provider]
      delete fixed[to.provider]
    }
    if (forgetsItems && fixed[key]?.itemId !== undefined) {
      fixed[key] = { ...fixed[key] }
      delete fixed[key].itemId
    }
    return fixed
  }
  return all.map((m) => ({
    ...m,
    providerOptions: fix(m.providerOptions),
    ...(Array.isArray(m.content) ? { content: m.content.map((p: Any) => ({ ...p, providerOptions: fix(p.providerOptions) })) } : {}),
  }))
}
