import type { CommandExecuteResult, NotifyShowParams } from "@magicctx/shim-core"
import type { View } from "../tui/view.ts"
import type { RpcDefinition } from "./opencode2.ts"

/** The plugin's half in a terminal makes these calls. Its half in the server answers them. */
export interface Calls {
  news(asked: Asked): Promise<News>
  run(command: { session: string; command: string; arguments: string }): Promise<CommandExecuteResult>
}

/**
 * `session` is the session that the terminal shows, or empty. `seen` is the number of the last notice that the
 * terminal has seen, at first 0.
 */
export interface Asked {
  session: string
  seen: number
}

export interface News {
  commands: Array<{ name: string; description: string }>
  view: View
  notices: Notice[]
  /** The number of the newest notice. */
  seen: number
}

export interface Notice extends Omit<NotifyShowParams, "directory"> {
  number: number
  /** The notice must not wait for others. */
  isTrouble: boolean
}

const object = (properties: Record<string, object>, optional: string[] = []) =>
  ({ type: "object", properties, required: Object.keys(properties).filter((name) => !optional.includes(name)), additionalProperties: false }) as const

/** A newer host may add members. */
const growing = (properties: Record<string, object>, optional: string[] = []) => ({ ...object(properties, optional), additionalProperties: true })

const text = { type: "string" }
const number = { type: "number" }
const yes = { type: "boolean" }
const list = (items: object) => ({ type: "array", items })
const panel = growing(
  {
    line: text,
    lines: list(text),
    size: text,
    parts: list(growing({ source: text, name: text, tokens: number, size: text })),
    window: number,
    bust: number,
    facts: list(growing({ label: text, text, tone: text }, ["tone"])),
  },
  ["bust"],
)

const page = growing({ text, choices: list(growing({ label: text, command: text })) })

/**
 * The calls and the event between the plugin's half in the terminal and its half in the server. The event names the
 * session that has news. An empty name means all sessions.
 */
export const definition = {
  id: "magicctx",
  methods: {
    news: {
      input: object({ session: text, seen: number }),
      output: object({
        commands: list(object({ name: text, description: text })),
        view: object({ panel, note: text }, ["panel", "note"]),
        notices: list(object({ number, isTrouble: yes, title: text, message: text, variant: text }, ["title"])),
        seen: number,
      }),
    },
    run: {
      input: object({ session: text, command: text, arguments: text }),
      output: object({ title: text, message: text, variant: text, stays: yes, page }, ["title", "stays", "page"]),
    },
  },
  events: { news: { schema: object({ session: text }) } },
} satisfies RpcDefinition
