import type { PluginInput } from "./v1/opencode.ts"
import type { PluginContext } from "./v2/opencode2.ts"

/**
 * Each version of OpenCode calls its own entry, and only this call loads the half for that version. From 1.18.30 on,
 * OpenCode 1 calls both entries, the second one with a context that has no sessions.
 *
 * The only export is the default one: OpenCode 1 would load any other export as a second plugin.
 */
export default {
  id: "magicctx",
  server: async (input: PluginInput) => (await import("./v1/plugin.ts")).server(input),
  setup: async (ctx: object) => {
    if (typeof (ctx as Partial<PluginContext> | undefined)?.session?.hook !== "function") return undefined
    return (await import("./v2/plugin.ts")).setup(ctx as PluginContext)
  },
}
