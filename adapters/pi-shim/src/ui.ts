import type { Context, UI } from "./pi.ts"

const key = "magicctx"

type Kind = "info" | "warning" | "error"

/**
 * Shows texts on Pi's screen. If Pi has no screen, as in print mode, nothing is shown. A notice that comes before the
 * session has started waits for the screen.
 */
export class Screen {
  private ui: UI | undefined
  private hasScreen = false
  private waiting: Array<[string, Kind]> = []

  /** Pi makes a new screen with each session. */
  attach({ ui, hasUI }: Pick<Context, "ui" | "hasUI">): void {
    this.ui = ui
    this.hasScreen = hasUI
    for (const [text, kind] of this.waiting.splice(0)) this.notify(text, kind)
  }

  /** Writes a line into the terminal's transcript. Pi does not store it in the session. */
  notify(text: string, kind: Kind): void {
    if (this.ui) this.show((ui) => ui.notify(text, kind))
    else this.waiting.push([text, kind])
  }

  /** Under Pi's footer; undefined removes the line. */
  status(text: string | undefined): void {
    this.show((ui) => ui.setStatus(key, text))
  }

  /** Above the editor; undefined removes the lines. */
  widget(lines: string[] | undefined): void {
    this.show((ui) => ui.setWidget(key, lines))
  }

  private show(body: (ui: UI) => void): void {
    if (!this.ui || !this.hasScreen) return
    try {
      body(this.ui)
    } catch {
      // The session was replaced, and its screen is gone. The next session attaches another screen.
    }
  }
}
