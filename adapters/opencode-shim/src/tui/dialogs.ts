import type { Choice, Dialogs } from "@magicctx/shim-core"
import { wrapped, type Colours } from "./panels.ts"
import type { Solid } from "./solid.ts"

/** Our own dialogs need these functions from each version of OpenCode. */
export interface Stack {
  /** Shows what `render` draws, and calls `closed` when the drawing leaves the screen. */
  show(render: () => unknown, closed: () => void): void
  makeLarge(): void
  clear(): void
  size(): { readonly width: number; readonly height: number }
  colours(): Colours
}

export interface ListOption {
  title: string
  value: Choice
  description?: string
}

/** If the user closes one of OpenCode's dialogs, it resolves with undefined. */
export interface Native {
  select(title: string, options: ListOption[]): Promise<Choice | undefined>
  confirm: Dialogs["confirm"]
  ask: Dialogs["ask"]
}

/** A longer text, in characters or lines, gets a dialog before the list of choices. */
const mostCharacters = 240
const mostLines = 4

/**
 * OpenCode's list on a terminal of 80 columns has this many characters in a line. OpenCode cuts a longer description
 * without a sign.
 */
const lineCharacters = 60

export function dialogsOf(stack: Stack, solid: Solid, { select, confirm, ask }: Native): Dialogs {
  return {
    async choose(title, text, choices) {
      const isShort = text.length <= mostCharacters && text.split("\n").length <= mostLines
      if (!isShort && !(await new Promise<boolean>((answered) => showText(stack, solid, title, text, answered)))) return undefined
      const options = choices.map((value) => {
        const { label, about = "" } = value
        const room = lineCharacters - label.length
        return { title: label, value, ...(about && room > 1 && { description: about.length > room ? `${about.slice(0, room - 1)}…` : about }) }
      })
      return select(isShort && text ? `${title}\n${wrapped(text, lineCharacters)}` : title, options)
    },
    confirm,
    ask,
  }
}

/**
 * OpenCode's own dialog cuts a text that is longer than the screen, so this dialog scrolls. If `answered` is given,
 * the return key goes on to the choices.
 */
export function showText(stack: Stack, solid: Solid, title: string, message: string, answered?: (goesOn: boolean) => void): void {
  const { createElement, insertNode, setProp, useKeyboard } = solid
  const make = (tag: "box" | "scrollbox" | "text", props: Record<string, unknown>) => {
    const element = createElement(tag)
    for (const [name, value] of Object.entries(props)) setProp(element, name, value)
    return element
  }
  const render = () => {
    const { text, muted } = stack.colours()
    const { width, height } = stack.size()
    const scroll = make("scrollbox", { maxHeight: Math.max(fewestRows, Math.floor(height * share) - aroundRows) })
    const page = make("box", { paddingRight: barColumns })
    insertNode(page, make("text", { content: wrapped(message, Math.min(width, mostColumns) - aroundColumns), fg: text, wrapMode: "word" }))
    insertNode(scroll, page)
    const all = make("box", { gap: 1, paddingLeft: 2, paddingRight: 2, paddingBottom: 1 })
    insertNode(all, make("text", { content: title, fg: text }))
    insertNode(all, scroll)
    insertNode(all, make("text", { content: `${answered ? "enter goes on · " : ""}esc closes · ↑/↓ scrolls`, fg: muted }))
    useKeyboard(({ name }) => {
      const by = steps[name]
      if (by !== undefined) scroll.scrollBy?.(by)
      if (!answered || name !== "return") return
      answered(true)
      stack.clear()
    })
    return all
  }
  stack.show(render, () => answered?.(false))
  stack.makeLarge()
}

/** OpenCode's dialog begins below the first quarter of the screen, and aroundRows rows hold title, keys and gaps. */
const share = 0.75
const aroundRows = 7
const fewestRows = 4

/** OpenCode's large dialog fills a screen of mostColumns columns. Text has aroundColumns columns less. */
const mostColumns = 82
const aroundColumns = 8

/** The columns that stay free for the scroll bar, which OpenCode draws over the text. */
const barColumns = 2

const steps: Record<string, number> = { up: -1, k: -1, down: 1, j: 1, pageup: -10, pagedown: 10 }
