import { asError, Method, type CommandExecuteResult, type InitializeResult } from "@magicctx/shim-core"
import { timeoutMS, type Instance } from "./instance.ts"
import type { Config } from "./opencode.ts"

/** Thrown after a command has run: OpenCode has no other way to end a command without a turn of the model. */
class CommandDone extends Error {
  override name = "MagicctxCommandDone"
}

/** Registers the host's commands and hidden agents with OpenCode. */
export function register(config: Config, { commands, agents }: InitializeResult): void {
  config.command ??= {}
  for (const { name, description } of commands) {
    config.command[name] = { description, template: "$ARGUMENTS" } // the template is never sent
  }
  config.agent ??= {}
  for (const { name, description, prompt, model, tools, steps } of agents) {
    config.agent[name] = {
      // OpenCode's own hidden agents have the same mode: the task tool would still offer a hidden subagent to the
      // model.
      mode: "primary",
      hidden: true,
      description,
      prompt,
      ...(model && { model }),
      ...(steps && { steps }),
      // The last matching rule wins.
      permission: { "*": "deny", ...Object.fromEntries(tools.map((tool) => [tool, "allow"])) },
    }
  }
}

export function isOurCommand(registered: InitializeResult | undefined, name: string): boolean {
  return registered?.commands.some((command) => command.name === name) ?? false
}

/** Runs a command of the host and shows its result. Always throws, to end the command. */
export async function command(instance: Instance, input: { command: string; sessionID: string; arguments: string }): Promise<never> {
  const { title, message, variant } = await execute(instance, input)
  await instance.client.tui.showToast({ body: { ...(title && { title }), message, variant } }).catch(() => {})
  throw new CommandDone(message)
}

async function execute(instance: Instance, input: { command: string; sessionID: string; arguments: string }): Promise<CommandExecuteResult> {
  const params = { session: input.sessionID, directory: instance.directory, command: input.command, arguments: input.arguments }
  try {
    return await instance.host.call(Method.CommandExecute, params, { timeoutMS: timeoutMS.command, once: true })
  } catch (err) {
    return { message: `/${input.command}: ${asError(err).message}`, variant: "error" }
  }
}
