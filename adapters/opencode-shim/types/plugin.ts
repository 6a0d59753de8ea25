// This file checks two parts of the plugin against the type declarations of OpenCode 1.18.33: the entry for OpenCode 2,
// and the part that draws on the screen of OpenCode 1. check.mjs maps the names of the imported packages to the files
// with the declarations. For OpenCode 2, the declarations contain only a small part of the context, and not the result
// of setup. Types from other packages, for example the keymap, are not checked.
import type { TuiPlugin } from "@opencode-ai/plugin/tui"
import { define, type Plugin } from "@opencode-ai/plugin/v2/promise"
import plugin from "../src/index.ts"
import type { Screen } from "../src/v1/opencode.ts"

export const two: Plugin = define({ ...plugin, setup: async (ctx) => void (await plugin.setup(ctx)) })
export const screen: TuiPlugin = async (api) => void (api satisfies Screen)
