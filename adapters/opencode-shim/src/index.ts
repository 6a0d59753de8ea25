import type { PluginInput } from "./v1/opencode.ts"
import type { PluginContext } from "./v2/opencode2.ts"

/**
 * OpenCode 1 calls `server`, OpenCode 2 calls `setup`. Each entry loads only the code for its version. From 1.18.30 on,
 * OpenCode 1 also calls `setup`, but with a context that has no sessions.
 *
 * This module has only a default export, because OpenCode 1 would load any other export as a second plugin.
 */
export default {
  id: "magicctx",
  server: async (input: PluginInput) => (await import("./v1/plugin.ts")).server(input),
  setup: async (ctx: object) => {
    if (typeof (ctx as Partial<PluginContext> | undefined)?.session?.hook !== "function") return undefined
    return (await import("./v2/plugin.ts")).setup(ctx as PluginContext)
  },
}
