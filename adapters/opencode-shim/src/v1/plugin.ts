import { acquireHost, Host, locateHost, openLog, startHost, type InitializeResult, type Log } from "@magicctx/shim-core"
import { command, isOurCommand, register } from "./commands.ts"
import { event } from "./events.ts"
import { Instance } from "./instance.ts"
import type { Hooks, PluginInput } from "./opencode.ts"
import { chatMessage, textComplete } from "./optional.ts"
import { params, system, transform } from "./prompt.ts"
import { children } from "./sessions.ts"
import { definition, tools } from "./tools.ts"

/** OpenCode accepts tools only at its start, so its start waits for the host. startMS limits this wait, in ms. */
const startMS = 2_000

/**
 * The directories for which a magicctx plugin runs. If a project has a loader (`install --project`), and the user has
 * also installed the plugin for all projects, the loader finds the directory here and does nothing.
 */
const working = ((globalThis as Record<symbol, unknown>)[Symbol.for("magicctx.directories")] ??= new Set<string>()) as Set<string>

let log: Log | undefined // the log of the process; it is opened for the first directory, and not when this module is imported

/** OpenCode calls this function once for each directory. */
export async function server(input: PluginInput): Promise<Hooks> {
  const processLog = (log ??= openLog("opencode-shim"))
  const lease = acquireHost(() => new Host(() => startHost(locateHost(import.meta.url, process.env, "opencode"), processLog, { harness: "opencode", keepsAlive: false }), processLog))
  const instance = new Instance(input, lease, processLog)
  working.add(input.directory)
  return hooks(instance, await instance.opened(startMS))
}

function hooks(instance: Instance, registered: InitializeResult | undefined): Hooks {
  const guarded = <I, O>(hook: string, body: (instance: Instance, input: I, output: O) => Promise<void> | void) => {
    return (input: I, output: O) =>
      instance.guard(hook, () => {
        if (!children.has((input as { sessionID?: string } | undefined)?.sessionID ?? "")) return body(instance, input, output)
      })
  }
  return {
    config: (config) =>
      instance.guard("config", () => {
        instance.isCompactionOff = config.compaction?.auto === false
        if (registered) register(config, registered)
      }),
    dispose: () => {
      working.delete(instance.directory)
      return instance.guard("dispose", () => instance.dispose())
    },
    event: (input) => instance.guard("event", () => event(instance, input)),
    tool: tools(instance, registered),
    "tool.definition": definition(registered),
    "chat.message": guarded("chat.message", chatMessage),
    "chat.params": async (input, output) => params(input, output),
    "command.execute.before": async (input, output) => {
      if (isOurCommand(registered, input.command)) await command(instance, input)
      await instance.guard("command.execute.before", () => instance.sessions.commanded(input, output.parts))
    },
    "experimental.chat.messages.transform": guarded("messages.transform", transform),
    "experimental.chat.system.transform": guarded("system.transform", system),
    "experimental.session.compacting": guarded("compacting", (_, { sessionID }: { sessionID: string }) => {
      instance.sessions.compacting.add(sessionID)
    }),
    "experimental.text.complete": guarded("text.complete", textComplete),
  }
}
