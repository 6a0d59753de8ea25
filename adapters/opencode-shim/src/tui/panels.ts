import type { Panel } from "@magicctx/shim-core"
import type { Element, Solid } from "./solid.ts"
import type { View } from "./view.ts"

/** The renderer of OpenCode reads these colours. */
export interface Colours {
  text: unknown
  muted: unknown
  notice?: unknown
  alarm?: unknown
  work?: unknown
}

/** The width of the bar in columns. It fits into OpenCode's sidebars, which have one column more. */
export const barColumns = 36
const labelColumns = 12
const bold = 1

/** Each source also has its own character, so that the bar can be read without colours. */
const looks: Record<string, { cell: string; colour: string }> = {
  system: { cell: "█", colour: "#5f87af" },
  definitions: { cell: "▓", colour: "#87afaf" },
  documents: { cell: "%", colour: "#d7af5f" },
  summaries: { cell: "#", colour: "#af87af" },
  memories: { cell: "+", colour: "#8787d7" },
  conversation: { cell: "▒", colour: "#87af87" },
  tools: { cell: "░", colour: "#d7875f" },
  thinking: { cell: "~", colour: "#af5f87" },
}
const unknownLook = { cell: "=", colour: "#808080" }
const usual = { notice: "#d7af5f", alarm: "#d75f5f", work: "#87af87" }

export class Panels {
  private views: ReadonlyMap<string, View> = new Map()
  private solid!: Solid
  private read: () => ReadonlyMap<string, View> = () => this.views
  private show: ((views: ReadonlyMap<string, View>) => void) | undefined
  private colours!: () => Colours

  attach(solid: Solid, colours: () => Colours): void {
    const [read, write] = solid.createSignal(this.views)
    this.solid = solid
    this.colours = colours
    this.read = read
    this.show = (views) => void write(() => views)
  }

  get(session: string): View | undefined {
    return this.views.get(session)
  }

  set(session: string, view: View): void {
    if (JSON.stringify(this.views.get(session)) === JSON.stringify(view)) return
    this.views = new Map(this.views).set(session, view)
    this.show?.(this.views)
  }

  /** Draws one line about a session. If the line is too long, its end is cut. */
  line(session: () => string, textOf: (panel: Panel) => string): Element {
    const text = this.text(() => {
      const { panel, note = "" } = this.viewOf(session())
      return panel ? textOf(panel) : note
    }, ({ muted }) => muted)
    for (const [name, value] of Object.entries({ wrapMode: "none", truncate: true, flexShrink: 1, minWidth: 0 })) this.solid.setProp(text, name, value)
    return text
  }

  /** Draws the longest line about a session that fits beside the names of the agent and the model in OpenCode 1. */
  fittedLine(session: () => string): Element {
    const { createSignal, setProp } = this.solid
    const [room, setRoom] = createSignal(0)
    const line = this.row([
      this.text(() => {
        const { panel, note = "" } = this.viewOf(session())
        return (panel?.lines ?? [cut(note, room())]).find(({ length }) => length <= room()) ?? ""
      }, ({ muted }) => muted, { wrapMode: "none" }),
    ])
    const props = {
      flexGrow: 1,
      justifyContent: "flex-end",
      onSizeChange: () => {
        // OpenCode's box around this line is as wide as the line. If it is too wide, OpenCode breaks its own names into
        // columns of a few letters. With these properties, the box takes only the room that the names leave.
        Object.assign(line.parent ?? {}, { flexBasis: 0, flexGrow: 1 })
        setRoom(() => line.width ?? 0)
      },
    }
    for (const [name, value] of Object.entries(props)) setProp(line, name, value)
    return line
  }

  sidebar(session: () => string): Element {
    const box = this.solid.createElement("box")
    this.solid.insert(box, () => this.rows(this.viewOf(session())))
    return box
  }

  private viewOf(session: string): View {
    return this.read().get(session) ?? {}
  }

  private rows({ panel, note }: View): Element[] {
    const rows: Element[] = []
    if (note) rows.push(this.text(() => wrapped(note, barColumns), ({ notice = usual.notice }) => notice, { wrapMode: "word" }))
    if (!panel) return rows
    rows.push(this.text(() => "magicctx", ({ text }) => text, { attributes: bold }))
    rows.push(this.text(() => panel.size, ({ muted }) => muted))
    rows.push(this.row(barOf(panel, barColumns).map(([source, count]) => {
      const { cell, colour } = source === "room" ? { cell: "·", colour: undefined } : source === "bust" ? { cell: "│", colour: undefined } : lookOf(source)
      return this.text(() => cell.repeat(count), ({ text, muted }) => colour ?? (source === "bust" ? text : muted), { flexShrink: 0 })
    })))
    for (const { source, name, size } of panel.parts) {
      const { cell, colour } = lookOf(source)
      rows.push(this.row([
        this.text(() => `${cell} `, () => colour, { flexShrink: 0 }),
        this.text(() => name, ({ muted }) => muted, { flexGrow: 1 }),
        this.text(() => size, ({ muted }) => muted, { flexShrink: 0 }),
      ]))
    }
    for (const { label, text, tone } of panel.facts) {
      rows.push(this.row([
        this.text(() => label, ({ muted }) => muted, { width: labelColumns, flexShrink: 0 }),
        this.text(() => wrapped(text, barColumns - labelColumns), (colours) => (tone ? (colours[tone] ?? usual[tone]) : colours.text), { flexGrow: 1, flexShrink: 1, minWidth: 0, wrapMode: "word" }),
      ]))
    }
    return rows
  }

  private row(children: Element[]): Element {
    const { createElement, insertNode, setProp } = this.solid
    const row = createElement("box")
    setProp(row, "flexDirection", "row")
    for (const child of children) insertNode(row, child)
    return row
  }

  private text(content: () => string, colour: (colours: Colours) => unknown, props: Record<string, unknown> = {}): Element {
    const { createElement, effect, setProp } = this.solid
    const text = createElement("text")
    for (const [name, value] of Object.entries(props)) setProp(text, name, value)
    effect(() => setProp(text, "fg", colour(this.colours())))
    effect(() => setProp(text, "content", content()))
    return text
  }
}

const cut = (text: string, columns: number) => (text.length > columns ? `${text.slice(0, Math.max(0, columns - 1))}…` : text)

/** Breaks long lines at blanks. If this were left to OpenCode, it would also break a line after the dot in "6.8k". */
export const wrapped = (text: string, columns: number) => text.replace(new RegExp(`(?!.{1,${columns}}$)(.{1,${columns}}) `, "gm"), "$1\n")

function lookOf(source: string): { cell: string; colour: string } {
  return looks[source] ?? unknownLook
}

/**
 * Returns the cells of the bar, with equal neighbours in one group, for example ["tools", 9]. "room" is free space. The
 * cell "bust" is at the size from which a bust may come.
 */
export function barOf({ parts, window, bust }: Panel, columns: number): Array<[source: string, count: number]> {
  const prompt = parts.reduce((sum, { tokens }) => sum + tokens, 0)
  const whole = Math.max(window, prompt, 1)
  const at = (tokens: number) => Math.floor((Math.min(tokens, whole) * columns) / whole)
  const cells = new Array<string>(columns).fill("room")
  let sum = 0
  for (const { source, tokens } of parts) cells.fill(source, at(sum), at((sum += tokens)))
  if (bust) cells[Math.min(at(bust), columns - 1)] = "bust"
  const runs: Array<[string, number]> = []
  for (const cell of cells) {
    const last = runs.at(-1)
    if (last?.[0] === cell) last[1]++
    else runs.push([cell, 1])
  }
  return runs
}
