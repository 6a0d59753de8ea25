import type { Choice, Dialogs } from "@magicctx/shim-core"
import { wrapped, type Colours } from "./panels.ts"
import type { Solid } from "./solid.ts"

/**
 * The functions of OpenCode that the dialogs in this file need. There is one implementation for OpenCode 1 and one for
 * OpenCode 2.
 */
export interface Stack {
  /** Shows the element that `render` returns, and calls `closed` when the element leaves the screen. */
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

/** OpenCode's own dialogs. If the user closes a dialog, its promise resolves with undefined. */
export interface Native {
  select(title: string, options: ListOption[]): Promise<Choice | undefined>
  confirm: Dialogs["confirm"]
  ask: Dialogs["ask"]
}

/** If a text is longer than this, the user first sees it in a separate dialog, and then the list of choices. */
const mostCharacters = 240
const mostLines = 4

/**
 * On a terminal of 80 columns, a line of OpenCode's list has this many characters. OpenCode cuts longer lines without
 * an ellipsis, so the shim cuts them first, and adds one.
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
 * Shows a text in a dialog that scrolls, because OpenCode's own dialog cuts a text that is longer than the screen.
 * `answered` gets true if the user presses return, and false if the user closes the dialog.
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
    insertNode(page, make("text", { content: wrapped(message, Math.max(1, Math.min(width, mostColumns) - aroundColumns)), fg: text, wrapMode: "word" }))
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

/** A dialog may fill three quarters of the screen's rows. Its title, its keys and its gaps take aroundRows of them. */
const share = 0.75
const aroundRows = 7
const fewestRows = 4

/** The largest width of OpenCode's large dialog, and how many columns narrower its text is. */
const mostColumns = 82
const aroundColumns = 8

/** Columns without text at the right side, because OpenCode draws the scroll bar over the text. */
const barColumns = 2

const steps: Record<string, number> = { up: -1, k: -1, down: 1, j: 1, pageup: -10, pagedown: 10 }
