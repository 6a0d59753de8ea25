import type { Context, UI } from "./pi.ts"

/** The name of our status line and of our widget. */
const key = "magicctx"

type Kind = "info" | "warning" | "error"

/**
 * Pi's screen. If Pi has no screen, as in print mode, this class shows nothing. A notice that comes before the session
 * has started waits for the screen.
 */
export class Screen {
  private ui: UI | undefined
  private hasScreen = false
  private waiting: Array<[string, Kind]> = []

  /** Notes the screen of the present session. Pi makes a new one with each session. */
  attach({ ui, hasUI }: Pick<Context, "ui" | "hasUI">): void {
    this.ui = ui
    this.hasScreen = hasUI
    for (const [text, kind] of this.waiting.splice(0)) this.notify(text, kind)
  }

  /** Shows a line in the transcript of the terminal. It is not stored. */
  notify(text: string, kind: Kind): void {
    if (this.ui) this.show((ui) => ui.notify(text, kind))
    else this.waiting.push([text, kind])
  }

  /** Sets the line under Pi's footer; undefined removes it. */
  status(text: string | undefined): void {
    this.show((ui) => ui.setStatus(key, text))
  }

  /** Sets the lines above the editor; undefined removes them. */
  widget(lines: string[] | undefined): void {
    this.show((ui) => ui.setWidget(key, lines))
  }

  private show(body: (ui: UI) => void): void {
    if (!this.ui || !this.hasScreen) return
    try {
      body(this.ui)
    } catch {
      // The session was replaced, and its screen is gone. The next session attaches its own.
    }
  }
}
