import { accessSync, constants, readFileSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, dirname, isAbsolute, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Harness } from "./generated/protocol.ts"

export const binaryName = process.platform === "win32" ? "magicctx-host.exe" : "magicctx-host"

/** The file beside the bundle in which `magicctx-host install` records the host to start. */
const recordName = "host.json"

/**
 * Returns the path of the host: $MAGICCTX_HOST, else the host that `magicctx-host install` recorded beside the bundle
 * at bundleURL, else the host that was packaged with the bundle, else the host on the PATH. If there is no host, the
 * error contains a remedy, or the places that were searched.
 */
export function locateHost(bundleURL: string, env: NodeJS.ProcessEnv, harness: Harness): string {
  if (env.MAGICCTX_HOST) {
    // The user has chosen this path, so no other path is tried.
    if (isExecutable(env.MAGICCTX_HOST)) return env.MAGICCTX_HOST
    throw new Error(`MAGICCTX_HOST names ${env.MAGICCTX_HOST}, which is not an executable file`)
  }
  const recorded = recordedHost(bundleURL)
  if (recorded && isExecutable(recorded)) return recorded
  const tried: string[] = []
  const packaged = packagedHost(bundleURL, tried)
  if (packaged) return packaged
  const onPath = hostOnPath(env)
  if (onPath) return onPath
  if (recorded) throw new Error(`${recorded} is gone, or cannot be executed. Wherever magicctx-host is now, run "magicctx-host install ${harness}" there`)
  throw new Error(`no ${binaryName} found; tried MAGICCTX_HOST (not set), ${tried.join(", ")}, PATH`)
}

/** Returns the first host on the PATH; undefined if there is none. */
function hostOnPath(env: NodeJS.ProcessEnv): string | undefined {
  for (const dir of (env.PATH ?? "").split(delimiter)) {
    // A relative entry like "." would run any file that a project contains.
    if (isAbsolute(dir) && isExecutable(join(dir, binaryName))) return join(dir, binaryName)
  }
  return undefined
}

/**
 * Returns the command line `magicctx-host doctor` for a shell. If the PATH leads to another host, or to none, the
 * command line contains the path of the host.
 */
export function doctorCommand(bundleURL: string, env: NodeJS.ProcessEnv, harness: Harness): string {
  let program: string | undefined
  try {
    program = locateHost(bundleURL, env, harness)
  } catch {
    // the user gets the error that no host was found
  }
  if (!program || program === hostOnPath(env)) return "magicctx-host doctor"
  return `${/[\s'"$&();]/.test(program) ? JSON.stringify(program) : program} doctor`
}

/** Returns the path that `magicctx-host install` recorded beside the bundle at bundleURL; undefined if there is none. */
function recordedHost(bundleURL: string): string | undefined {
  try {
    const { host } = JSON.parse(readFileSync(join(dirname(fileURLToPath(bundleURL)), recordName), "utf8")) as { host?: unknown }
    return typeof host === "string" && isAbsolute(host) ? host : undefined
  } catch {
    return undefined // a bundle that npm has installed has no record
  }
}

/**
 * Returns the path of the host that was packaged with the bundle at bundleURL; undefined if there is none. Adds each
 * place that it has searched to the list `tried`.
 */
export function packagedHost(bundleURL: string, tried: string[]): string | undefined {
  for (const candidate of candidates(bundleURL, tried)) if (isExecutable(candidate)) return candidate
  return undefined
}

function* candidates(bundleURL: string, tried: string[]): Generator<string> {
  const platformPackage = `@magicctx/host-${process.platform}-${process.arch}`
  try {
    const manifest = createRequire(bundleURL).resolve(`${platformPackage}/package.json`)
    const path = join(dirname(manifest), "bin", binaryName)
    tried.push(path)
    yield path
  } catch {
    tried.push(`${platformPackage} (not installed)`)
  }
  const beside = join(dirname(fileURLToPath(bundleURL)), "..", "bin", binaryName)
  tried.push(beside)
  yield beside
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
