import type { TerminalContext } from "./v2/opencode2.ts"
import { setup } from "./v2/tui/half.ts"

/** The half for the terminals of OpenCode 2, which are processes of their own. */
export default { id: "magicctx", setup: (ctx: TerminalContext) => setup(ctx) }
