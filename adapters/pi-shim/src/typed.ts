import type { Message } from "./pi.ts"
import type { Step } from "./steps.ts"

/** How many lines the shim remembers. A line waits for its message while the model works. */
const remembered = 100

/**
 * The lines that the user typed. Pi does not store a line itself, but the message that it makes from the line, for
 * example from a prompt template.
 */
export class Lines {
  private lines: { session: string; text: string; at: number; isRead: boolean }[] = []

  /** Notes a line before Pi reads it. */
  note(session: string, text: string): void {
    this.lines = [...this.lines.slice(1 - remembered), { session, text, at: Date.now(), isRead: false }]
  }

  /**
   * Looks for new prompts in which Pi has replaced a line by a template, and calls replaced with the prompt's id and
   * the line. Pi makes a prompt directly after it has read the line, so a prompt belongs to the newest line before
   * it. A skill becomes an element of the prompt, followed by the words of the line.
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
