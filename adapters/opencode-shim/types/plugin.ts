// OpenCode 1.18.33 calls two parts of the plugin: the entry for OpenCode 2, and the half for the screen of OpenCode 1.
// This file checks both against the declarations of that version. check.mjs maps the package names to the files with
// these declarations. They declare only a small part of the context for OpenCode 2, and not the result of setup. Types
// from other packages, for example the keymap, are not checked.
import type { TuiPlugin } from "@opencode-ai/plugin/tui"
import { define, type Plugin } from "@opencode-ai/plugin/v2/promise"
import plugin from "../src/index.ts"
import type { Screen } from "../src/v1/opencode.ts"

export const two: Plugin = define({ ...plugin, setup: async (ctx) => void (await plugin.setup(ctx)) })
export const screen: TuiPlugin = async (api) => void (api satisfies Screen)
