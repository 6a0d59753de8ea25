import type { SessionStatus } from "@magicctx/shim-core"
import type { UI } from "./pi.ts"

/** Each key scrolls by this number of rows. */
const steps: Record<string, number> = { k: -1, "\x1b[A": -1, "\x1bOA": -1, j: 1, "\x1b[B": 1, "\x1bOB": 1, "\x1b[5~": -10, "\x1b[6~": 10, " ": 10 }
/** Only these keys close the view, so that it does not swallow the first key of the user's next prompt. */
const closing = ["\x1b", "q", "\r", "\n", "\x03"]

/**
 * Shows the host's status over the whole screen. The host writes the status for the terminal's width. `follow` gets a
 * function that asks the host for the status again. Returns false if this Pi has no terminal.
 */
export async function showView(ui: UI, ask: (columns: number) => Promise<SessionStatus>, follow: (refresh?: () => void) => void): Promise<boolean> {
  let isDrawn = false
  await ui.custom(
    (tui, _, __, close) => {
      isDrawn = true
      let lines: string[] = []
      let top = 0
      let width = 0
      const draw = (answer: SessionStatus) => {
        lines = answer.screen ?? []
        tui.requestRender()
      }
      const refresh = () => void ask(width).then(draw, () => {})
      follow(refresh)
      return {
        render(columns) {
          if (columns !== width) {
            width = columns
            refresh()
          }
          const rows = tui.terminal.rows - 1
          top = Math.max(0, Math.min(top, lines.length - rows))
          const shown = lines.slice(top, top + rows)
          return [...shown, ...Array<string>(rows - shown.length).fill(""), "↑/↓ scrolls · esc or q closes"]
        },
        handleInput(keys) {
          if (closing.includes(keys)) return close(undefined)
          top += steps[keys] ?? 0
          tui.requestRender()
        },
        invalidate() {},
      }
    },
    { overlay: true, overlayOptions: { width: "100%", maxHeight: "100%" } },
  )
  follow()
  return isDrawn
}
