import { asError, executeTool, type InitializeResult, type ToolDefinition } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"

/** Registers the host's tools once. Their texts are part of the cached prefix's start, so they never change. */
export function register(instance: Instance, registered: InitializeResult | undefined): void {
  if (instance.hasTools || !registered) return
  instance.hasTools = true
  registerTools(instance, registered.tools).catch((err) => instance.log.warn("no tools", { cause: asError(err).message }))
}

/** OpenCode does not check the arguments against the schema, and the host does. */
async function registerTools(instance: Instance, tools: readonly ToolDefinition[]): Promise<void> {
  await instance.ctx.tool?.transform((editor) => {
    for (const { name, description, parameters } of tools) {
      editor.add({
        name,
        description,
        input: parameters,
        jsonSchema: parameters,
        options: { codemode: false },
        async execute(args, { sessionID, id, callID, signal }) {
          const params = { session: sessionID, directory: instance.directory, tool: name, callId: id ?? callID ?? "", args: args ?? {} }
          // OpenCode takes an ordinary error for a defect of the plugin, so a failure is a text, too.
          const { output } = await executeTool(instance.host, params, signal).catch((err: Error) => ({ output: err.message }))
          return { content: [{ type: "text", text: output }], structured: {} }
        },
      })
    }
  })
}
