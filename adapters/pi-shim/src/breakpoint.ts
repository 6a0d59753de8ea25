import type { Step } from "./steps.ts"

/** In Anthropic's API, a cache breakpoint is a member of a block. On Bedrock, it is a separate block. */
interface Block {
  text?: unknown
  cache_control?: object
  cachePoint?: object
}

interface Sent {
  role: string
  content: string | Block[]
}

/** The body of a request, as Pi sends it to Anthropic's API and to Bedrock. */
interface Payload {
  system?: Block[]
  tools?: Block[]
  toolConfig?: { tools?: Block[] }
  messages: Sent[]
}

/** A request may have this many breakpoints. */
const most = 4

/**
 * Returns a copy of the request with a cache breakpoint on the head's second message, the acknowledgement. If the delta
 * or the tail changes later, the provider can still read the baseline from its cache. Providers refuse a request in
 * which a breakpoint with a longer cache life follows one with a shorter life, so the new breakpoint is a copy of one
 * that Pi has set. Returns undefined if the request does not begin with the head, has no breakpoint of Pi, or already
 * has `most` breakpoints.
 */
export function withBreakpoint(payload: unknown, head: readonly unknown[]): unknown {
  const [baseline, acknowledgement] = head as readonly Step[]
  const { system, tools, toolConfig, messages } = (payload ?? {}) as Partial<Payload>
  if (!baseline || !acknowledgement || !Array.isArray(messages)) return undefined
  const at = messages.findIndex(({ role }) => role === "assistant")
  const spoken = messages.slice(0, at + 1).filter(({ role }) => role !== "system")
  if (spoken.length !== 2 || !isSame(spoken[0]!, baseline) || !isSame(spoken[1]!, acknowledgement)) return undefined
  const content = spoken[1]!.content
  const points = [tools, toolConfig?.tools, system, ...messages.map(({ content }) => content)].flatMap(pointsOf)
  const [point] = [...pointsOf(system), ...pointsOf(tools), ...points]
  if (typeof content === "string" || !point || points.length >= most) return undefined
  const last = content.at(-1)!
  const marked = point.cachePoint ? [last, { cachePoint: point.cachePoint }] : [{ ...last, cache_control: point.cache_control }]
  return { ...(payload as Payload), messages: messages.with(at, { ...spoken[1]!, content: [...content.slice(0, -1), ...marked] }) }
}

function pointsOf(blocks: unknown): Block[] {
  return Array.isArray(blocks) ? (blocks as Block[]).filter(({ cache_control, cachePoint }) => cache_control || cachePoint) : []
}

function isSame({ content }: Sent, { message }: Step): boolean {
  const [block, ...more] = typeof content === "string" ? [{ text: content }] : content
  const [own] = message!.content as Block[]
  return block?.text === own?.text && more.length === 0
}
