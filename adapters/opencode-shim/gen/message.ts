import { all, cases, fields, list, nothing, type Projection } from "../../shim-core/gen/declare.ts"

/**
 * What the host uses of an OpenCode message. Left out is what never reaches a
 * model and is large or restless: tool metadata (it repeats outputs), diff
 * summaries (filled in later, by themselves), snapshots, costs.
 */

const summary = cases([], [[true, all]], nothing) // of a user it is an object of diffs

const info = fields({
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
})

// Only its place matters: patches name parts by their index.
const marker = fields({ type: all })

const text = fields({ id: all, type: all, text: all, synthetic: all, ignored: all })

// OpenCode gives a reminder that it adds in memory a new part id on every pass.
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

// What this version does not know is kept whole: compaction, subtask, agent, and what comes next.
const part = cases(["type"], parts, all)
const userPart = cases(["type"], [...parts, ["text", cases(["synthetic"], [[true, reminder]], text)]], all)

const messageOf = (part: Projection) => fields({ info, parts: list(part) })

export const message = cases(
  ["info", "role"],
  [
    ["user", messageOf(userPart)],
    ["assistant", messageOf(part)],
  ],
  all,
)
