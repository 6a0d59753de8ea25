import { all, choose, fields, isObject, list, when, type Projection } from "@magicctx/shim-core"

/**
 * What the host uses of an OpenCode message. Left out is what never reaches a
 * model and is large or restless: tool metadata (it repeats outputs), diff
 * summaries (filled in later, by themselves), snapshots, costs.
 */

const summary = when((raw) => raw === true, all) // of a user it is an object of diffs

const info = fields({
  id: all,
  sessionID: all,
  role: all,
  time: all,
  agent: all,
  mode: all,
  model: all,
  providerID: all,
  modelID: all,
  variant: all,
  parentID: all,
  finish: all,
  tokens: all,
  tools: all,
  error: fields({ name: all }),
  summary,
})

const marker = fields({ id: all, type: all })

const text = fields({ id: all, type: all, text: all, synthetic: all, ignored: all })

// OpenCode gives a reminder that it adds in memory a new part id on every pass.
const reminder = fields({ type: all, text: all, synthetic: all, ignored: all })

const isInterrupted = (raw: unknown) => isObject(raw) && raw.interrupted === true
const isCompacted = (raw: unknown) => isObject(raw) && raw.compacted !== undefined

const state = fields({
  status: all,
  input: all,
  output: all,
  error: all,
  attachments: all,
  time: when(isCompacted, fields({ compacted: all })),
  metadata: when(isInterrupted, fields({ interrupted: all, output: all })),
})

const tool = fields({ id: all, type: all, callID: all, tool: all, state })

const parts = new Map<unknown, Projection>([
  ["text", text],
  ["reasoning", fields({ id: all, type: all, text: all, metadata: all })],
  ["tool", tool],
  ["file", fields({ id: all, type: all, mime: all, filename: all, url: all })],
  ["step-start", marker],
  ["step-finish", marker],
  ["patch", marker],
  ["snapshot", marker],
  ["retry", marker],
])

// What this version does not know is kept whole: compaction, subtask, agent, and what comes next.
const part = choose((raw) => parts.get(raw.type) ?? all)
const userPart = choose((raw) => (raw.type === "text" && raw.synthetic === true ? reminder : (parts.get(raw.type) ?? all)))

const assistantMessage = fields({ info, parts: list(part) })
const userMessage = fields({ info, parts: list(userPart) })

export const message = choose((raw) => {
  const role = isObject(raw.info) ? raw.info.role : undefined
  return role === "user" ? userMessage : role === "assistant" ? assistantMessage : all
})
