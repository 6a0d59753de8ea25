// Checks the entry for version 2, and what the half for the screen of version 1 uses, against the declarations of
// OpenCode 1.18.33. That release calls both. check.mjs maps the names of its packages to their files. These files
// declare only a small context for version 2, and no result of setup. Types that they import from other packages, for
// example the keymap, are not checked.
import type { TuiPlugin } from "@opencode-ai/plugin/tui"
import { define, type Plugin } from "@opencode-ai/plugin/v2/promise"
import plugin from "../src/index.ts"
import type { Screen } from "../src/v1/opencode.ts"

export const two: Plugin = define({ ...plugin, setup: async (ctx) => void (await plugin.setup(ctx)) })
export const screen: TuiPlugin = async (api) => void (api satisfies Screen)
