import { spawn } from "node:child_process"
import { packagedHost } from "./locate.ts"

/**
 * Runs the host that was packaged with the file at launcherURL, for people at a terminal. npm links `magicctx-host`
 * to that file, because each platform has a separate package with the binary. packageName is the npm package of the
 * file, and harness is the harness that the package is for.
 */
export function launchPackagedHost(launcherURL: string, packageName: string, harness: string): void {
  const tried: string[] = []
  // It searches neither PATH nor $MAGICCTX_HOST: both may name the launcher.
  const host = packagedHost(launcherURL, tried)
  if (host) return launch(host, args(harness))
  console.error(
    `magicctx-host: there is no host for ${process.platform} ${process.arch}; tried ${tried.join(", ")}.\n` +
      `It comes as an optional dependency of ${packageName}: install that again, without --omit=optional.`,
  )
  process.exitCode = 1
}

/**
 * The arguments for the host. `npx @magicctx/opencode` runs the launcher without arguments. A user who types that wants
 * to install; the host asks before it changes anything.
 */
function args(harness: string): string[] {
  const given = process.argv.slice(2)
  return given.length === 0 && process.env.npm_command === "exec" ? ["install", harness] : given
}

function launch(path: string, args: string[]): void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  // The handlers come before the spawn: a signal in between would end this process and leave the host running. A
  // terminal's Ctrl-C also reaches the host directly, and a second signal does not disturb it.
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
