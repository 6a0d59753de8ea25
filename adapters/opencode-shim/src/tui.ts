import { screen } from "./v1/screen.ts"
import type { Screen } from "./v1/opencode.ts"
import type { TerminalContext } from "./v2/opencode2.ts"
import { setup } from "./v2/tui/half.ts"

export default { id: "magicctx", tui: (api: Screen) => screen(api), setup: (ctx: TerminalContext) => setup(ctx) }
