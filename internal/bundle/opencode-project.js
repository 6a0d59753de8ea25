// Loads magicctx for this project. `magicctx-host install opencode --project` wrote this file, and
// `uninstall` removes it. It holds no path of your machine: the plugin lies in the data directory of
// each user, where `magicctx-host install opencode` puts it. A user without magicctx gets no plugin.
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"
import { pathToFileURL } from "node:url"

function dataDirectory() {
  const { MAGIC_CONTEXT_DATA_DIR: own, XDG_DATA_HOME: data } = process.env
  if (own) return own
  return join(data && isAbsolute(data) ? data : join(homedir(), ".local", "share"), "cortexkit", "magic-context")
}

const file = join(dataDirectory(), "opencode-shim", "index.js")
const message = `magicctx is not working: this project asks for it, but ${file} is missing. Run "magicctx-host install opencode --project" here`
const load = async () => (await import(pathToFileURL(file).href)).default

// If the user has installed the plugin for all projects, it works for this one already.
const works = (directory) => globalThis[Symbol.for("magicctx.directories")]?.has(directory)

async function server(input, options) {
  if (works(input.directory)) return {}
  if (existsSync(file)) return (await load()).server(input, options)
  let isShown = false
  const show = async () => {
    if (isShown) return
    isShown = true
    input.client.tui.showToast({ body: { title: "magicctx", message, variant: "warning" } }).catch(() => {})
    input.client.app.log({ body: { service: "magicctx", level: "warn", message } }).catch(() => {})
  }
  return { "chat.message": show }
}

// The entry of OpenCode 2. OpenCode 1 calls it, too, but with a context that has no sessions.
async function setup(ctx) {
  if (typeof ctx?.session?.hook !== "function" || works(ctx.location?.directory)) return
  if (existsSync(file)) return (await load()).setup(ctx)
  console.warn(message)
}

export default { id: "magicctx-project", server, setup }
