// Loads magicctx for this project. `magicctx-host install pi --project` wrote this file, and
// `uninstall` removes it. It holds no path of your machine: the plugin lies in the data directory of
// each user, where `magicctx-host install pi` puts it. A user without magicctx gets no plugin.
import { existsSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"
import { pathToFileURL } from "node:url"

function dataDirectory() {
  const { MAGIC_CONTEXT_DATA_DIR: own, XDG_DATA_HOME: data } = process.env
  if (own) return own
  return join(data && isAbsolute(data) ? data : join(homedir(), ".local", "share"), "cortexkit", "magic-context")
}

function agentDirectory() {
  const own = process.env.PI_CODING_AGENT_DIR
  return own ? own.replace(/^~(?=$|[/\\])/, homedir()) : join(homedir(), ".pi", "agent")
}

// If the user has installed the plugin for all projects, it works for this one already.
function isInstalledForUser() {
  try {
    const { packages } = JSON.parse(readFileSync(join(agentDirectory(), "settings.json"), "utf8").replace(/^\ufeff/, ""))
    return packages.some((entry) => /(^|[/\\:])(pi-shim|@magicctx[/\\]pi)([/\\@]|$)/.test(entry?.source ?? entry))
  } catch {
    return false // there are no settings, or Pi cannot read them either
  }
}

export default async function load(pi) {
  if (isInstalledForUser()) return
  const file = join(dataDirectory(), "pi-shim", "index.js")
  if (existsSync(file)) return (await import(pathToFileURL(file).href)).default(pi)
  const message = `magicctx is not working: this project asks for it, but ${file} is missing. Run "magicctx-host install pi --project" here`
  let isShown = false // Pi starts one session twice
  pi.on("session_start", (_event, ctx) => {
    if (!isShown && ctx.hasUI) ctx.ui.notify(message, "warning")
    isShown = true
  })
}
