export interface RawMessage {
  info: { id: string }
  parts: unknown[]
}

/** A session of OpenCode. Every tenth message is a question. The others are steps with 3.5 KB of tool output. */
export function session(messages: number, now: number): RawMessage[] {
  return Array.from({ length: messages }, (_, i) => (i % 10 === 0 ? user(i, now) : assistant(i, now)))
}

function user(i: number, now: number): RawMessage {
  const info = { id: `msg_${i}`, sessionID: "ses_1", role: "user", time: { created: now }, agent: "build", model: { providerID: "p", modelID: "m" } }
  const diff = { file: "src/a.ts", patch: "+".repeat(600), additions: 1, deletions: 0 }
  const text = { id: `prt_${i}`, sessionID: "ses_1", messageID: info.id, type: "text", text: `Question ${i} `.repeat(20) }
  return { info: { ...info, summary: { diffs: [diff] } } as RawMessage["info"], parts: [text] }
}

function assistant(i: number, now: number): RawMessage {
  const common = (n: number) => ({ id: `prt_${i}_${n}`, sessionID: "ses_1", messageID: `msg_${i}` })
  const tokens = { total: 100, input: 10, output: 90, reasoning: 0, cache: { read: 0, write: 0 } }
  const output = source(i)
  const info = {
    id: `msg_${i}`, sessionID: "ses_1", role: "assistant", parentID: `msg_${i - (i % 10)}`, time: { created: now, completed: now },
    agent: "build", mode: "build", providerID: "p", modelID: "m", path: { cwd: "/project", root: "/project" }, cost: 0.1, tokens, finish: "tool-calls",
  }
  // OpenCode's metadata repeats a part of the output. It never reaches a model.
  const metadata = { preview: output.slice(0, 1000), truncated: false }
  const state = { status: "completed", input: { filePath: `/project/src/${i}.ts`, offset: 1 }, output, title: "read", metadata, time: { start: i, end: i + 1 } }
  return {
    info,
    parts: [
      { ...common(0), type: "step-start", snapshot: "0123456789abcdef0123456789abcdef01234567" },
      { ...common(1), type: "reasoning", text: "I think that ".repeat(10), time: { start: i, end: i }, metadata: { anthropic: { signature: "s".repeat(200) } } },
      { ...common(2), type: "tool", callID: `call_${i}`, tool: "read", state },
      { ...common(3), type: "step-finish", reason: "tool-calls", cost: 0.1, tokens },
    ],
  }
}

/** About 3.5 KB that look like code, different in each message. */
function source(i: number): string {
  let text = ""
  for (let line = 0; text.length < 3500; line++) text += `  const value${(i * 31 + line * 7) % 997} = compute(${i}, ${line}, "item ${(i * 13 + line) % 89}")\n`
  return text
}
