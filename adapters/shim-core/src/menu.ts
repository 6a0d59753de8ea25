import type { Choice, CommandExecuteResult } from "./generated/protocol.ts"

/** The dialogs of a harness. If the user closes a dialog, its promise resolves with undefined. */
export interface Dialogs {
  choose(title: string, text: string, choices: readonly Choice[]): Promise<Choice | undefined>
  confirm(title: string, text: string): Promise<boolean | undefined>
  ask(question: string, value?: string): Promise<string | undefined>
}

/** Runs a command. Resolves with the command's answer, or with undefined if the answer is already on the screen. */
type Run = (command: string, args: string) => Promise<CommandExecuteResult | undefined>

/**
 * Runs a command, and then the commands that the user chooses in dialogs. If no dialog has shown the last answer, walk
 * resolves with that answer.
 */
export async function walk(run: Run, dialogs: Dialogs | undefined, command: string, args: string): Promise<CommandExecuteResult | undefined> {
  for (;;) {
    const answer = await run(command, args)
    const page = answer?.page
    if (!dialogs || !page?.choices[0]) return answer
    const chosen = await dialogs.choose(answer!.title ?? "", page.text, page.choices)
    if (!chosen || (chosen.confirm && !(await dialogs.confirm(chosen.label, chosen.confirm)))) return undefined
    const typed = chosen.ask && (await dialogs.ask(chosen.ask, chosen.value))
    if (chosen.ask && !typed) return undefined
    command = chosen.command
    args = `${chosen.arguments ?? ""} ${typed ?? ""}`.trim()
  }
}
