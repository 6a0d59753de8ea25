import type { Message } from "./pi.ts"
import type { Step } from "./steps.ts"

/** How many lines the shim remembers. A line waits for its message while the model works. */
const remembered = 100

/** The lines that the user typed. Pi stores only what it makes of a line, for example the text of a prompt template. */
export class Lines {
  private lines: { session: string; text: string; at: number; isRead: boolean }[] = []

  /** Notes a line before Pi reads it. */
  note(session: string, text: string): void {
    this.lines = [...this.lines.slice(1 - remembered), { session, text, at: Date.now(), isRead: false }]
  }

  /**
   * Calls replaced with the id of each new prompt in which Pi has put a template in place of a line, and with that line.
   * Pi makes a prompt directly after it has read the line, so a prompt belongs to the newest line before it. A skill is
   * an element of the prompt, and the words of the line follow it.
   */
  read(session: string, steps: readonly Step[], replaced: (id: string, line: string) => void): void {
    for (const { id, message } of steps) {
      const time = message?.role === "user" ? message.timestamp : undefined
      const line = time !== undefined && this.lines.findLast((line) => line.session === session && line.at <= time)
      if (!line || line.isRead) continue
      line.isRead = true
      if (line.text.startsWith("/") && !line.text.startsWith("/skill:") && textOf(message!) !== line.text) replaced(id, line.text)
    }
  }
}

function textOf({ content }: Message): string | undefined {
  if (!Array.isArray(content)) return content as string
  return (content as { type?: string; text?: string }[]).find(({ type }) => type === "text")?.text
}
