import { executeTool, type InitializeResult } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Hooks, ToolRegistration } from "./opencode.ts"

/**
 * OpenCode registers the tools once. If a newer host describes its tools differently, the old texts remain, because
 * they are at the start of the cached prefix.
 */
export function tools(instance: Instance, registered: InitializeResult | undefined): Record<string, ToolRegistration> {
  const map: Record<string, ToolRegistration> = {}
  for (const { name, description } of registered?.tools ?? []) {
    map[name] = {
      description,
      args: {},
      async execute(args, { sessionID, callID, abort }) {
        const params = { session: sessionID, directory: instance.directory, tool: name, callId: callID ?? "", args: args ?? {} }
        const { title, output } = await executeTool(instance.host, params, abort)
        return { ...(title && { title }), output }
      },
    }
  }
  return map
}

/** Sets the host's schema for the host's tools. OpenCode's own conversion would make every argument required. */
export function definition(registered: InitializeResult | undefined): NonNullable<Hooks["tool.definition"]> {
  const ours = new Map(registered?.tools.map((tool) => [tool.name, tool]))
  return async ({ toolID }, output) => {
    const tool = ours.get(toolID)
    if (!tool) return
    output.description = tool.description
    output.jsonSchema = tool.parameters
  }
}
