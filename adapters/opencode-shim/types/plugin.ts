// Checks the entry for version 2 against the declarations of OpenCode 1.18.33, which calls it, too. check.mjs maps the
// package's name to its files. They declare a small context, and no result of setup.
import { define, type Plugin } from "@opencode-ai/plugin/v2/promise"
import plugin from "../src/index.ts"

export const two: Plugin = define({ ...plugin, setup: async (ctx) => void (await plugin.setup(ctx)) })
