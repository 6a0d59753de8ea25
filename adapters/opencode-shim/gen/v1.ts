import { all, cases, fields, list, nothing, type Projection } from "../../shim-core/gen/declare.ts"

/**
 * The parts of an OpenCode message that the host uses. Some members never reach a model. The projection leaves them out
 * if they are large, or if OpenCode changes them later: tool metadata (it repeats outputs), diff summaries (OpenCode
 * fills them in later), snapshots and costs.
 */

const summary = cases([], [[true, all]], nothing) // in user messages it is an object of diffs

const info = {
  id: all,
  sessionID: all,
  role: all,
  time: fields({ created: all, completed: all }),
  model: all,
  providerID: all,
  modelID: all,
  finish: all,
  tokens: fields({ input: all, output: all, cache: fields({ read: all, write: all }) }),
  tools: all,
  error: fields({ name: all }),
  summary,
}

// The agent matters, because each agent has its own system prompt and tools, and so its own prefix. An answer has the
// agent of the user message before it.
const userInfo = { ...info, agent: all }

// Only the place of a marker matters, because patches address parts by their index.
const marker = fields({ type: all })

const text = fields({ id: all, type: all, text: all, synthetic: all, ignored: all })

// On every pass, OpenCode adds its reminders in memory, each with a new part id.
const reminder = fields({ type: all, text: all, synthetic: all, ignored: all })

const compacted = cases(["compacted"], [[undefined, nothing]], fields({ compacted: all }))
const interrupted = cases(["interrupted"], [[true, fields({ interrupted: all, output: all })]], nothing)

const state = fields({
  status: all,
  input: all,
  output: all,
  error: all,
  attachments: all,
  time: compacted,
  metadata: interrupted,
})

const tool = fields({ id: all, type: all, callID: all, tool: all, state })

const parts = [
  ["text", text],
  ["reasoning", fields({ id: all, type: all, text: all, metadata: all })],
  ["tool", tool],
  ["file", fields({ id: all, type: all, mime: all, filename: all, url: all })],
  ["step-start", marker],
  ["step-finish", marker],
  ["patch", marker],
  ["snapshot", marker],
  ["retry", marker],
] as const

// All other parts are kept whole: compaction, subtask, agent, and any future type.
const part = cases(["type"], parts, all)
const userPart = cases(["type"], [...parts, ["text", cases(["synthetic"], [[true, reminder]], text)]], all)

const messageOf = (info: Record<string, Projection>, part: Projection) => fields({ info: fields(info), parts: list(part) })

export const message = cases(
  ["info", "role"],
  [
    ["user", messageOf(userInfo, userPart)],
    ["assistant", messageOf(info, part)],
  ],
  all,
)
