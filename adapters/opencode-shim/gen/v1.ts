import { all, cases, fields, list, nothing, type Projection } from "../../shim-core/gen/declare.ts"

/**
 * This projection lists the members of an OpenCode message that the shim sends to the host. It leaves out members that
 * no model receives, if they are large or change later. For example, tool metadata repeats outputs, and OpenCode fills
 * in diff summaries later. Snapshots and costs are left out, too.
 */

const summary = cases([], [[true, all]], nothing) // in a user message, this member is an object of diffs

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

// The host must know when the agent changes, because each agent has its own system prompt and tools, which are in the
// prefix. A user message names the agent that answers it, so the shim sends the agent with user messages only.
const userInfo = { ...info, agent: all }

// The host does not read the content of some parts, for example step-start. But it has to count them, because patches
// address parts by index.
const marker = fields({ type: all })

const text = fields({ id: all, type: all, text: all, synthetic: all, ignored: all })

// Before each request, OpenCode adds its reminders again, with new part ids. So a reminder is sent without its id.
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

// Parts of any other type are sent whole: compaction, subtask, agent, and the types of future versions.
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
