import type { Message } from "../src/pi.ts"

/**
 * Returns a session of Pi. Every tenth step is a question. The other steps are answers with 3.5 KB of tool output. If
 * the benchmark of OpenCode's shim gets as many messages as this session has steps, the two results can be compared.
 */
export function session(steps: number, now: number): Message[] {
  return Array.from({ length: steps }, (_, i) => (i % 10 === 0 ? [user(i, now)] : answer(i, now))).flat()
}

function user(i: number, now: number): Message {
  return { role: "user", content: [{ type: "text", text: `Question ${i} `.repeat(20) }], timestamp: now + 2 * i }
}

function answer(i: number, now: number): Message[] {
  const usage = { input: 10, output: 90, cacheRead: 0, cacheWrite: 0, totalTokens: 100, cost: { input: 0, output: 0.1, cacheRead: 0, cacheWrite: 0, total: 0.1 } }
  const thinking = { type: "thinking", thinking: "I think that ".repeat(10), thinkingSignature: "s".repeat(200) }
  const call = { type: "toolCall", id: `toolu_${i}`, name: "read", arguments: { path: `/project/src/${i}.ts`, offset: 1 } }
  const output = source(i)
  const details = { truncation: { content: output.slice(0, 1000), truncated: false } }
  return [
    { role: "assistant", content: [thinking, call], api: "anthropic-messages", provider: "p", model: "m", usage, stopReason: "toolUse", timestamp: now + 2 * i } as Message,
    { role: "toolResult", toolCallId: call.id, toolName: "read", content: [{ type: "text", text: output }], details, isError: false, timestamp: now + 2 * i + 1 } as Message,
  ]
}

/** About 3.5 KB that look like code, different in each step. */
function source(i: number): string {
  let text = ""
  for (let line = 0; text.length < 3500; line++) text += `  const value${(i * 31 + line * 7) % 997} = compute(${i}, ${line}, "item ${(i * 13 + line) % 89}")\n`
  return text
}
