import { asError, executeTool, type InitializeResult, type ToolDefinition } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Registration } from "./opencode2.ts"

/**
 * Registers the host's tools. Until the host's first answer, the shim uses the tools that it got at an earlier start
 * (`isEarlier`). After that answer, the tools must not change any more, because their texts are at the start of the
 * cached prefix.
 */
export function register(instance: Instance, registered: InitializeResult | undefined, isEarlier = false): void {
  const { log, tools } = instance
  if (tools.isSettled || (isEarlier && !registered)) return
  tools.isSettled = !isEarlier && registered !== undefined
  const wanted = registered?.tools ?? []
  const text = JSON.stringify(wanted)
  if (tools.text === text) return
  tools.text = text
  const before = tools.registration
  tools.registration = replace().catch((err) => void log.warn("no tools", { cause: asError(err).message }))

  async function replace() {
    await (await before)?.dispose()
    return registerTools(instance, wanted)
  }
}

/** Registers tools. OpenCode 2's betas do not check arguments against the schema, but the host always does. */
async function registerTools(instance: Instance, tools: readonly ToolDefinition[]): Promise<Registration | undefined> {
  return instance.ctx.tool?.transform((editor) => {
    for (const { name, description, parameters } of tools) {
      editor.add({
        name,
        description,
        input: parameters,
        jsonSchema: parameters,
        options: { codemode: false },
        async execute(args, { sessionID, id, callID, signal }) {
          const params = { session: sessionID, directory: instance.directory, tool: name, callId: id ?? callID ?? "", args: args ?? {} }
          // OpenCode treats a thrown error as a defect of the plugin. So if the call fails, the tool returns the error
          // message as its result.
          const { output } = await executeTool(instance.host, params, signal).catch((err: Error) => ({ output: err.message }))
          return { content: [{ type: "text", text: output }], structured: {} }
        },
      })
    }
  })
}
