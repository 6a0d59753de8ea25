import { executeCommand, type InitializeResult } from "@magicctx/shim-core"
import { noticeMS } from "../notices.ts"
import type { Instance } from "./instance.ts"
import type { Config } from "./opencode.ts"

/**
 * A hook can end a command without a model turn only by throwing an error. OpenCode's server uses the library Effect,
 * which reads an object with these members as an HTTP response: the server answers 204, and logs no error. If a
 * version's Effect does not know these members, the server answers 500, and logs a harmless stack trace.
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
      // In the mode "subagent", the task tool would offer the agent to the model. OpenCode's hidden agents are
      // "primary", too.
      mode: "primary",
      hidden: true,
      description,
      prompt,
      ...(model && { model }),
      // OpenCode must not reach its own limit of steps. At this limit, it appends a message of the assistant to the
      // request, and newer models refuse such a request. So its limit is one step higher than ours, and prompt.ts ends
      // the agent after its last step. OpenCode 1.18 reads `steps`, earlier versions read `maxSteps`.
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
  if (!isLeft) await instance.client.tui.showToast({ body: { ...(title && { title }), message, variant, duration: noticeMS(message) } }).catch(() => {})
  throw isFailure ? new CommandFailed(message) : new CommandDone(message)
}

/**
 * True if this process was started only for the command, as in `opencode run --command ctx-status`. Such a process
 * shows no toasts. (With --attach, the command runs in another process, the server.)
 */
export function isRunOf(argv: readonly string[], name: string): boolean {
  const args = argv.slice(2)
  const named = args.some((arg, i) => arg === `--command=${name}` || (arg === "--command" && args[i + 1] === name))
  return args[0] === "run" && named && !args.includes("--interactive") && !args.includes("-i")
}

/**
 * Prints the answer of a command, and ends the process. `opencode run` waits for a turn of the model after each
 * command. Our commands start no turn, so the process would wait for ever.
 */
async function printAndExit(message: string, sessionID: string, isFailure: boolean): Promise<never> {
  const args = process.argv
  const isJSON = args.includes("--format=json") || args[args.indexOf("--format") + 1] === "json"
  const event = { type: isFailure ? "error" : "text", timestamp: Date.now(), sessionID, part: { type: "text", text: message } }
  const out = isFailure && !isJSON ? process.stderr : process.stdout
  await new Promise((written) => out.write((isJSON ? JSON.stringify(event) : message) + "\n", written))
  process.exit(isFailure ? 1 : 0)
}
