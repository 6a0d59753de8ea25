import { executeCommand, walk, type CommandDefinition, type Dialogs } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Context, Pi, UI } from "./pi.ts"

/** Registers the host's commands in Pi. The model is not called when Pi runs them. */
export function registerCommands(pi: Pi, instance: Instance, commands: readonly CommandDefinition[]): void {
  for (const { name, description } of commands) {
    pi.registerCommand(name, { description, handler: (args, ctx) => run(instance, name, args, ctx) })
  }
}

/** Runs a command. The host may answer with a menu, from which the user chooses further commands. */
async function run(instance: Instance, name: string, args: string, ctx: Context): Promise<void> {
  const { hasUI, ui, sessionManager } = ctx
  const session = sessionManager.getSessionId()
  const execute = async (command: string, args: string) =>
    command === "ctx-status" && hasUI && (await instance.view(ctx)) ? undefined : executeCommand(instance.host, { session, directory: instance.directory, command, arguments: args })
  const answer = await walk(execute, hasUI ? dialogs(ui) : undefined, name, args)
  if (!answer) return
  const { title, message, variant } = answer
  const text = title ? `${title}\n${message}` : message
  instance.screen.notify(text, variant === "success" ? "info" : variant)
  // In print mode, stdout is for Pi's own output. So the result goes to stderr, where a program that runs the command
  // can read it.
  if (!hasUI) process.stderr.write(`${text}\n`)
}

function dialogs(ui: UI): Dialogs {
  return {
    async choose(title, text, choices) {
      const label = await ui.select(`${title}\n${text}`, choices.map(({ label }) => label))
      return choices.find((choice) => choice.label === label)
    },
    confirm: (title, text) => ui.confirm(title, text),
    ask: (question, value) => ui.editor(question, value),
  }
}
