import { asError, RpcError } from "./connection.ts"
import { Method, type CommandExecuteParams, type CommandExecuteResult, type ToolExecuteParams, type ToolExecuteResult } from "./generated/protocol.ts"
import type { Host } from "./host.ts"
import { timeoutMS } from "./timeouts.ts"

/** Runs one of the host's tools. If the tool cannot run, throws an error with the text for the model. */
export async function executeTool(host: Host, params: ToolExecuteParams, signal?: AbortSignal): Promise<ToolExecuteResult> {
  // The host stores the tool's result under the call id. So if the host crashes, the shim may send a call with an id
  // again.
  const options = { timeoutMS: timeoutMS.tool, once: !params.callId, ...(signal && { signal }) }
  try {
    return await host.call(Method.ToolExecute, params, options)
  } catch (err) {
    if (err instanceof RpcError || signal?.aborted) throw err
    throw new Error(`${params.tool} did nothing, because magicctx is not working now (${asError(err).message}). Go on without it.`)
  }
}

/** Runs one of the host's commands. If it fails, the error's message is the text for the user. */
export async function executeCommand(host: Host, params: CommandExecuteParams): Promise<CommandExecuteResult> {
  try {
    return await host.call(Method.CommandExecute, params, { timeoutMS: timeoutMS.command, once: true })
  } catch (err) {
    return { message: `/${params.command}: ${asError(err).message}`, variant: "error" }
  }
}
