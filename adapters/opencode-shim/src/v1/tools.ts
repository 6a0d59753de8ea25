import { executeTool, type InitializeResult } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Hooks, ToolRegistration } from "./opencode.ts"

/**
 * Returns the tools that OpenCode registers at its start. It registers them only once. If a newer host describes its
 * tools differently later, the old descriptions stay: they are at the start of the prompt, so a change would invalidate
 * the whole cached prefix.
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

/**
 * Gives the host's tools the schema that the host sent. OpenCode would otherwise make a schema of its own, in which
 * every argument is required.
 */
export function definition(registered: InitializeResult | undefined): NonNullable<Hooks["tool.definition"]> {
  const ours = new Map(registered?.tools.map((tool) => [tool.name, tool]))
  return async ({ toolID }, output) => {
    const tool = ours.get(toolID)
    if (!tool) return
    output.description = tool.description
    output.jsonSchema = tool.parameters
  }
}
