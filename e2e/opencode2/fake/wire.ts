import type { Row, Session } from "./store.ts"

/** Like OpenCode, the fake creates new objects of this class for each request. */
export class Message {
  declare readonly role: "system" | "user" | "assistant" | "tool"
  declare readonly content: any[]
  declare readonly id?: string

  constructor(members: object) {
    Object.assign(this, members)
  }
}

/** The entries begin with the newest completed compaction. */
export function entriesOf(rows: readonly Row[], model: Session["model"]): Message[] {
  return sinceCompaction(rows).flatMap((row) => entries(row, model)).map((entry) => new Message(entry))
}

export function sinceCompaction(rows: readonly Row[]): Row[] {
  const at = rows.findLastIndex(({ type, status }) => type === "compaction" && status === "completed")
  return rows.slice(Math.max(0, at))
}

function entries(row: Row, model: Session["model"]): object[] {
  const user = (content: any[], metadata?: object) => (content.length === 0 ? [] : [{ id: row.id, role: "user", content, ...(metadata && { metadata }) }])
  const text = (text: string) => ({ type: "text", text })
  switch (row.type) {
    case "user":
      return user([...(row.text === "" ? [] : [text(row.text)]), ...(row.files ?? []).flatMap(attachment)], {})
    case "synthetic":
      return user([text(row.text)])
    case "shell":
      return user([text(`The following shell command was executed by the user:\n\nCommand:\n${row.command}\n\nOutput:\n${row.output.output}`)])
    case "system":
      return [{ role: "system", content: [text(row.text)] }]
    case "compaction":
      return row.status === "completed"
        ? user([text(`<conversation-checkpoint>\nThe following is a summary.\n\n<summary>\n${row.summary}\n</summary>\n</conversation-checkpoint>`)])
        : []
    case "assistant": {
      const isSame = row.model.id === model.id && !row.error
      const content = row.content.flatMap((part: any): object[] => {
        if (part.type === "text") return part.text === "" ? [] : [text(part.text)]
        if (part.type === "tool") return [{ type: "tool-call", id: part.id, name: part.name, input: part.state.input }]
        return [{ type: "reasoning", text: part.text, ...(isSame && { providerMetadata: { mock: part.state } }) }]
      })
      const results = row.content.filter(({ type, state }: any) => type === "tool" && ["completed", "error"].includes(state.status)).map(({ id, name, state }: any) => ({
        role: "tool",
        content: [{ type: "tool-result", id, name, result: resultOf(state) }],
      }))
      return content.length === 0 ? results : [{ id: row.id, role: "assistant", content }, ...results]
    }
  }
  return []
}

function resultOf({ status, content, error }: any): object {
  if (status === "error") return { type: "error", value: { error, content: [] } }
  return content.length === 1 && content[0].type === "text" ? { type: "text", value: content[0].text } : { type: "content", value: content }
}

function attachment({ mime, data, name, source }: any): object[] {
  if (mime === "text/plain") return [{ type: "text", text: `\n\nAttached file: ${name}\n\n${Buffer.from(data, "base64").toString()}`, metadata: { attachment: { source, name } } }]
  return mime.startsWith("image/") ? [{ type: "media", media: { mediaType: mime, source: { type: "base64", data } }, filename: name }] : []
}

const partTypes = new Set(["text", "media", "reasoning", "tool-call", "tool-result", "compaction", "effort"])
const resultTypes = new Set(["json", "text", "error", "content"])

/**
 * Checks a request as OpenCode does after the hooks. If the check fails, the turn ends without an
 * answer.
 */
function check({ system, messages }: { system: any[]; messages: any[] }): void {
  const broken = (what: string) => new Error(`Schema validation failed: ${what}`)
  for (const { type, text } of system) if (type !== "text" || typeof text !== "string") throw broken("system")
  for (const { role, content } of messages) {
    if (!["system", "user", "assistant", "tool"].includes(role) || !Array.isArray(content)) throw broken("message")
    for (const part of content) {
      if (!partTypes.has(part.type)) throw broken(`part ${part.type}`)
      if (part.cache !== undefined) throw broken("Expected LLM.CacheHint") // a plugin has no instance of that class
      if (part.type === "text" && typeof part.text !== "string") throw broken("text")
      if (part.type === "tool-result" && !resultTypes.has(part.result?.type)) throw broken("result")
    }
  }
}

interface Request {
  system: any[]
  messages: any[]
  tools: Record<string, { description: string; input: unknown }>
  options: { maxTokens?: number }
}

/** Returns the request in Anthropic's form, with the breakpoints of release 2.0.26. */
export function bodyOf(request: Request, model: string): object {
  check(request)
  const ephemeral = { cache_control: { type: "ephemeral" } }
  const messages: Array<{ role: string; content: any[] }> = []
  for (const { role, content } of request.messages) {
    const as = role === "assistant" ? "assistant" : "user"
    const blocks = content.flatMap((part: any) => blockOf(part, role))
    if (messages.at(-1)?.role === as) messages.at(-1)!.content.push(...blocks)
    else messages.push({ role: as, content: blocks })
  }
  Object.assign(messages.at(-1)?.content.at(-1) ?? {}, ephemeral)
  const system = request.system.map(({ text }, i, all) => ({ type: "text", text, ...((i === 0 || i === all.length - 1) && ephemeral) }))
  const tools = Object.entries(request.tools).map(([name, { description, input }], i, all) => ({ name, description, input_schema: input, ...(i === all.length - 1 && ephemeral) }))
  return { model, max_tokens: request.options.maxTokens ?? 4_000, stream: true, system, messages, ...(tools.length > 0 && { tools }) }
}

function blockOf(part: any, role: string): object[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: role === "system" ? `<system-update>\n${part.text}\n</system-update>` : part.text }]
    case "reasoning":
      return part.providerMetadata ? [{ type: "thinking", thinking: part.text, signature: part.providerMetadata.mock.signature }] : [{ type: "text", text: part.text }]
    case "tool-call":
      return [{ type: "tool_use", id: part.id, name: part.name, input: part.input }]
    case "tool-result":
      return [{ type: "tool_result", tool_use_id: part.id, content: contentOf(part.result), ...(part.result.type === "error" && { is_error: true }) }]
    case "media":
      return [image(part.media.mediaType, part.media.source.data)]
  }
  return []
}

function contentOf({ type, value }: { type: string; value: any }): unknown {
  if (type === "text") return value
  if (type !== "content") return JSON.stringify(value)
  return value.map((item: any) => (item.type === "text" ? { type: "text", text: item.text } : image(item.mime, item.uri.slice(item.uri.indexOf(",") + 1))))
}

function image(mime: string, data: string): object {
  return { type: "image", source: { type: "base64", media_type: mime, data } }
}

/** An error of the provider, instead of an answer. */
export class Refusal extends Error {
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`Provider request failed with HTTP ${status}: ${body}`)
    this.status = status
    this.body = body
  }
}

export async function* ask(baseURL: string, session: Session, body: object, signal?: AbortSignal): AsyncGenerator<any> {
  const headers = { "content-type": "application/json", "x-opencode-session": session.id, "x-session-id": session.id }
  const response = await fetch(`${baseURL}/messages`, { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) })
  if (!response.ok) throw new Refusal(response.status, await response.text())
  let rest = ""
  const decoder = new TextDecoder()
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
    rest = lines.pop()!
    for (const line of lines) if (line.startsWith("data: ")) yield JSON.parse(line.slice(6))
  }
}
