import { server } from "./plugin.ts"

// The only export is the default one: OpenCode would load any other export as a second plugin.
export default { id: "magicctx", server }
