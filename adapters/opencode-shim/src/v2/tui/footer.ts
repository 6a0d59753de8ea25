import type { TerminalContext } from "../opencode2.ts"
import type { Solid } from "./solid.ts"

/** The line about the session below the prompt. */
export class Footer {
  private show: ((lines: ReadonlyMap<string, string>) => void) | undefined
  private lines: ReadonlyMap<string, string> = new Map()

  /** Puts the line on the screen. Calls opened when the prompt of another session appears. */
  draw(ctx: TerminalContext, { createElement, createSignal, effect, setProp }: Solid, opened: (session: string) => void): void {
    const [lines, setLines] = createSignal(this.lines)
    this.show = (changed) => void setLines(() => changed)
    ctx.ui.slot({
      append: "prompt.footer.status",
      render(input) {
        const text = createElement("text")
        for (const [name, value] of [["wrapMode", "none"], ["truncate", true], ["flexShrink", 1], ["minWidth", 0]] as const) setProp(text, name, value)
        effect(() => setProp(text, "fg", ctx.theme?.text?.muted))
        effect(() => setProp(text, "content", lines().get(input.sessionID ?? "") ?? ""))
        effect(() => opened(input.sessionID ?? ""))
        return text
      },
    })
  }

  set(session: string, line: string): void {
    if (this.lines.get(session) === line) return
    this.lines = new Map(this.lines).set(session, line)
    this.show?.(this.lines)
  }
}
