import type { TerminalContext } from "../opencode2.ts"
import type { Solid } from "../../tui/solid.ts"

/** Opens a dialog with a text that scrolls: OpenCode's own dialog cuts a text that is longer than the screen. */
export function showAnswer(ctx: TerminalContext, solid: Solid, title: string, message: string): void {
  const { createElement, insertNode, setProp, useKeyboard } = solid
  const make = (tag: "box" | "scrollbox" | "text", props: Record<string, unknown>) => {
    const element = createElement(tag)
    for (const [name, value] of Object.entries(props)) setProp(element, name, value)
    return element
  }
  const { dialog } = ctx.ui
  dialog!.show(() => {
    const scroll = make("scrollbox", { maxHeight: Math.max(fewestRows, Math.floor((ctx.renderer?.height ?? usualRows) * share)) })
    insertNode(scroll, make("text", { content: message, fg: ctx.theme?.text?.base, wrapMode: "word" }))
    const all = make("box", { gap: 1, paddingLeft: 2, paddingRight: 2, paddingBottom: 1 })
    insertNode(all, make("text", { content: title, fg: ctx.theme?.text?.base }))
    insertNode(all, scroll)
    insertNode(all, make("text", { content: "esc closes · ↑/↓ scrolls", fg: ctx.theme?.text?.muted }))
    useKeyboard(({ name }) => {
      const by = steps[name]
      if (by !== undefined) scroll.scrollBy?.(by)
    })
    return all
  })
  dialog!.set({ size: "large" })
}

/** The share of the screen's height that the text may take. Without a known height, usualRows counts as the height. */
const share = 0.6
const fewestRows = 8
const usualRows = 24

/** The keys that scroll, and by how many rows. */
const steps: Record<string, number> = { up: -1, k: -1, down: 1, j: 1, pageup: -10, pagedown: 10 }
