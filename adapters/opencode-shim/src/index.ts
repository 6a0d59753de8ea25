import { server } from "./plugin.ts"

// Nothing but the default export: OpenCode takes any other one for a second plugin.
export default { id: "magicctx", server }
