import { executeCommand, type CommandDefinition } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Context, Pi } from "./pi.ts"

/** Registers the host's commands. Pi runs them without a call of the model. */
export function registerCommands(pi: Pi, instance: Instance, commands: readonly CommandDefinition[]): void {
  for (const { name, description } of commands) {
    pi.registerCommand(name, { description, handler: (args, ctx) => run(instance, name, args, ctx) })
  }
}

/** Runs a command, and then each command that the user chooses from an answer. */
async function run(instance: Instance, name: string, args: string, ctx: Context): Promise<void> {
  const { hasUI, sessionManager } = ctx
  if (name === "ctx-status" && hasUI && (await instance.view(ctx))) return
  const params = { session: sessionManager.getSessionId(), directory: instance.directory, command: name, arguments: args }
  const { title, message, variant, page } = await executeCommand(instance.host, params)
  const text = title ? `${title}\n${message}` : message
  if (hasUI && page?.choices[0]) {
    const { ui } = ctx
    const label = await ui.select(`${title}\n${page.text}`, page.choices.map(({ label }) => label))
    const chosen = page.choices.find((choice) => choice.label === label)
    if (!chosen || (chosen.confirm && !(await ui.confirm(chosen.label, chosen.confirm)))) return
    const typed = chosen.ask && (await ui.editor(chosen.ask, chosen.value))
    return chosen.ask && !typed ? undefined : run(instance, chosen.command, `${chosen.arguments ?? ""} ${typed ?? ""}`.trim(), ctx)
  }
  instance.screen.notify(text, variant === "success" ? "info" : variant)
  // In print mode the standard output belongs to Pi. On the standard error, a program that runs the command can still
  // read the result.
  if (!hasUI) process.stderr.write(`${text}\n`)
}
