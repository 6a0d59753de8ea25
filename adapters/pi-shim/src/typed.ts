import type { Message } from "./pi.ts"
import type { Step } from "./steps.ts"

/**
 * How many typed lines the shim remembers. Several lines can wait at the same time: while the model works, the user may
 * type more lines, and Pi turns them into messages only later.
 */
const remembered = 100

/**
 * Remembers the lines that the user typed, because Pi stores only the messages that it makes from them. A message may
 * contain the text of a prompt template instead of the typed command, or piped input before the words that the user
 * gave on the command line.
 */
export class Lines {
  private lines: { session: string; text: string; words: string | undefined; at: number; isRead: boolean }[] = []

  /**
   * Remembers a line that the user has typed. A line with the source "rpc" comes from a program that controls Pi. It
   * counts as typed, too, but contains no piped input.
   */
  note(session: string, text: string, source?: string): void {
    const words = source === "rpc" || this.lines.length > 0 ? undefined : afterPipedInput(text)
    this.lines = [...this.lines.slice(1 - remembered), { session, text, words, at: Date.now(), isRead: false }]
  }

  /**
   * Calls `replaced` with the id and the typed line of each new prompt that Pi has made from a command such as /review,
   * or from piped input. Pi makes a prompt directly after it has read the line, so a prompt belongs to the newest line
   * that is not later than the prompt. A line that begins with /skill: is left out, because Pi's prompt still contains
   * the words that the user typed after it.
   */
  read(session: string, steps: readonly Step[], replaced: (id: string, line: string) => void): void {
    for (const { id, message } of steps) {
      const time = message?.role === "user" ? message.timestamp : undefined
      const line = time !== undefined && this.lines.findLast((line) => line.session === session && line.at <= time)
      if (!line || line.isRead) continue
      line.isRead = true
      if (line.words !== undefined) replaced(id, line.words)
      else if (line.text.startsWith("/") && !line.text.startsWith("/skill:") && textOf(message!) !== line.text) replaced(id, line.text)
    }
  }
}

/**
 * Options of Pi (0.74 and 0.87) whose value is the next argument. An argument after any other option is one of the
 * user's words.
 */
const valued = new Set(
  ("--mode --provider --model --api-key --system-prompt --append-system-prompt --name -n --session --session-id --fork --session-dir --models --tools -t " +
    "--exclude-tools -xt --thinking --export --extension -e --skill --prompt-template --theme --use-theme --tui-mode").split(" "),
)

/**
 * For `cat log | pi "why?"`, Pi's first prompt is the piped input followed by the words of the command line.
 * afterPipedInput returns these words. If nothing was piped, or no word follows, it returns undefined.
 */
function afterPipedInput(prompt: string): string | undefined {
  const args = process.argv.slice(2)
  if (process.stdin.isTTY || args.includes(prompt)) return undefined
  const isWords = (arg: string, i: number) => arg !== "" && prompt.endsWith(arg) && !valued.has(args[i - 1] ?? "")
  return args.filter(isWords).sort((a, b) => b.length - a.length)[0]
}

function textOf({ content }: Message): string | undefined {
  if (!Array.isArray(content)) return content as string
  return (content as { type?: string; text?: string }[]).find(({ type }) => type === "text")?.text
}
