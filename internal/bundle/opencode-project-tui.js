// Loads the half of magicctx for the terminals of OpenCode. index.js, beside this file, says more.
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"
import { pathToFileURL } from "node:url"

function dataDirectory() {
  const { MAGIC_CONTEXT_DATA_DIR: own, XDG_DATA_HOME: data } = process.env
  if (own) return own
  return join(data && isAbsolute(data) ? data : join(homedir(), ".local", "share"), "cortexkit", "magic-context")
}

async function half() {
  const file = join(dataDirectory(), "opencode-shim", "tui.js")
  return existsSync(file) ? (await import(pathToFileURL(file).href)).default : undefined
}

export default { id: "magicctx-project", setup: async (ctx) => (await half())?.setup(ctx), tui: async (api) => (await half())?.tui(api) }
