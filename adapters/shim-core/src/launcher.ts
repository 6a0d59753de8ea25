import { spawn } from "node:child_process"
import { packagedHost } from "./locate.ts"

/**
 * Runs the host's binary for a user at a terminal. The npm package `packageName` contains no binary, because each
 * platform has its own package for that. So npm links the command `magicctx-host` to a script in `packageName`, which
 * calls this function. `launcherURL` is the script's own file, and `harness` is the harness of the package.
 */
export function launchPackagedHost(launcherURL: string, packageName: string, harness: string): void {
  const tried: string[] = []
  // PATH and $MAGICCTX_HOST are not searched, because both may name the launcher.
  const host = packagedHost(launcherURL, tried)
  if (host) return launch(host, args(harness))
  console.error(
    `magicctx-host: there is no host for ${process.platform} ${process.arch}; tried ${tried.join(", ")}.\n` +
      `It comes as an optional dependency of ${packageName}: install that again, without --omit=optional.`,
  )
  process.exitCode = 1
}

/**
 * Returns the arguments for the host. `npx @magicctx/opencode` without arguments installs magicctx, because its user
 * most likely wants that. The host asks before it changes files.
 */
function args(harness: string): string[] {
  const given = process.argv.slice(2)
  return given.length === 0 && process.env.npm_command === "exec" ? ["install", harness] : given
}

function launch(path: string, args: string[]): void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  // The handlers are registered before the spawn. Otherwise, a signal in between would end this process, but not the
  // host. A terminal's Ctrl-C also reaches the host directly, but a second signal does no harm.
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  const child = spawn(path, args, { stdio: "inherit" })
  child.on("error", (err) => {
    console.error(`magicctx-host: ${path}: ${err.message}`)
    process.exit(1)
  })
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
