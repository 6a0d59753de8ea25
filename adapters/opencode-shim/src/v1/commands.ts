import { executeCommand, type InitializeResult } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Config } from "./opencode.ts"

/**
 * Only an error ends a command in OpenCode without a turn of the model. OpenCode's server (Effect) also reads this
 * error as an HTTP response with the status 204, and logs no error. A server that does not know this form answers
 * with the status 500, and logs a harmless stack.
 */
export class CommandDone extends Error {
  override name = "MagicctxCommandDone"
  readonly "~effect/http/HttpServerResponse" = "~effect/http/HttpServerResponse"
  readonly status = 204
  readonly statusText = undefined
  readonly headers = {}
  readonly cookies = { cookies: {} }
  readonly body = { _tag: "Empty" }
}

class CommandFailed extends Error {
  override name = "MagicctxCommandFailed"
}

export function register(config: Config, { commands, agents }: InitializeResult): void {
  config.command ??= {}
  for (const { name, description } of commands) {
    config.command[name] = { description, template: "$ARGUMENTS" } // the template is never sent
  }
  config.agent ??= {}
  for (const { name, description, prompt, model, tools, steps } of agents) {
    config.agent[name] = {
      // OpenCode's own hidden agents have the mode "primary", too. In the mode "subagent", the task tool would offer
      // the agent to the model.
      mode: "primary",
      hidden: true,
      description,
      prompt,
      ...(model && { model }),
      // The shim ends an agent after its last step (prompt.ts), one step before OpenCode's own limit. At its limit,
      // OpenCode ends the request with a message of the assistant, which newer models refuse. OpenCode 1.18 reads
      // `steps`, earlier versions read `maxSteps`.
      ...(steps && { steps: steps + 1, maxSteps: steps + 1 }),
      // In OpenCode, the last matching rule wins.
      permission: { "*": "deny", ...Object.fromEntries(tools.map((tool) => [tool, "allow"])) },
    }
  }
}

export function isOurCommand(registered: InitializeResult | undefined, name: string): boolean {
  return registered?.commands.some((command) => command.name === name) ?? false
}

/** Always throws, to end the command. */
export async function command(instance: Instance, input: { command: string; sessionID: string; arguments: string }): Promise<never> {
  const { title, message, variant, stays } = await executeCommand(instance.host, {
    session: input.sessionID,
    directory: instance.directory,
    command: input.command,
    arguments: input.arguments,
  })
  const isFailure = variant === "error"
  if (isRunOf(process.argv, input.command)) await printAndExit(message, input.sessionID, isFailure)
  const isLeft = stays === true && (await instance.leave(input.sessionID, title ? `${title}\n${message}` : message))
  if (!isLeft) await instance.client.tui.showToast({ body: { ...(title && { title }), message, variant } }).catch(() => {})
  throw isFailure ? new CommandFailed(message) : new CommandDone(message)
}

/**
 * Whether this process only runs the command, as in `opencode run --command ctx-status`, and shows no toast. (With
 * --attach, the command runs in the server, which is another process.)
 */
export function isRunOf(argv: readonly string[], name: string): boolean {
  const args = argv.slice(2)
  const named = args.some((arg, i) => arg === `--command=${name}` || (arg === "--command" && args[i + 1] === name))
  return args[0] === "run" && named && !args.includes("--interactive") && !args.includes("-i")
}

/**
 * `opencode run` expects a turn of the model after each command, but our commands start none. Without the exit,
 * OpenCode would wait for ever.
 */
async function printAndExit(message: string, sessionID: string, isFailure: boolean): Promise<never> {
  const args = process.argv
  const isJSON = args.includes("--format=json") || args[args.indexOf("--format") + 1] === "json"
  const event = { type: isFailure ? "error" : "text", timestamp: Date.now(), sessionID, part: { type: "text", text: message } }
  const out = isFailure && !isJSON ? process.stderr : process.stdout
  await new Promise((written) => out.write((isJSON ? JSON.stringify(event) : message) + "\n", written))
  process.exit(isFailure ? 1 : 0)
}
