import { executeTool, type ToolDefinition } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Pi } from "./pi.ts"

/**
 * Registers the host's tools in Pi. Pi checks the arguments of a call against the schema, and the host checks them
 * again.
 */
export function registerTools(pi: Pi, instance: Instance, tools: readonly ToolDefinition[]): void {
  for (const { name, description, parameters } of tools) {
    pi.registerTool({
      name,
      label: name,
      description,
      parameters: parameters as never,
      exposure: "model-only", // results of calls by Pi's codemode scripts are not in the transcript
      async execute(id, args, signal, _onUpdate, ctx) {
        const params = { session: ctx.sessionManager.getSessionId(), directory: instance.directory, tool: name, callId: id, args: args ?? {} }
        const { output } = await executeTool(instance.host, params, signal)
        return { content: [{ type: "text", text: output }], details: undefined }
      },
    })
  }
}
