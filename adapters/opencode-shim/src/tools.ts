import { asError, Method, RpcError, type InitializeResult } from "@magicctx/shim-core"
import { timeoutMS, type Instance } from "./instance.ts"
import type { Hooks, ToolRegistration } from "./opencode.ts"

/**
 * The host's tools as OpenCode registers them, once for the life of the instance. Their texts are the start of the
 * cached prefix, so they stay as they were at the start, even if a later host describes its tools differently.
 */
export function tools(instance: Instance, registered: InitializeResult | undefined): Record<string, ToolRegistration> {
  const map: Record<string, ToolRegistration> = {}
  for (const { name, description } of registered?.tools ?? []) {
    map[name] = {
      description,
      args: {},
      async execute(args, { sessionID, callID, abort }) {
        const params = { session: sessionID, directory: instance.directory, tool: name, callId: callID ?? "", args: args ?? {} }
        // The host stores its reply under the call id, so a call may be sent again after a crash.
        const options = { timeoutMS: timeoutMS.tool, once: !callID, ...(abort && { signal: abort }) }
        try {
          const { title, output } = await instance.host.call(Method.ToolExecute, params, options)
          return { ...(title && { title }), output }
        } catch (err) {
          if (err instanceof RpcError || abort?.aborted) throw err
          throw new Error(`${name} did nothing, because magicctx is not working now (${asError(err).message}). Go on without it.`)
        }
      },
    }
  }
  return map
}

/** Gives the model the host's schema unchanged: OpenCode's own conversion makes every argument required. */
export function definition(registered: InitializeResult | undefined): NonNullable<Hooks["tool.definition"]> {
  const ours = new Map(registered?.tools.map((tool) => [tool.name, tool]))
  return async ({ toolID }, output) => {
    const tool = ours.get(toolID)
    if (!tool) return
    output.description = tool.description
    output.jsonSchema = tool.parameters
  }
}
