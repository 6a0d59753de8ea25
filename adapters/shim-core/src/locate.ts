import { accessSync, constants, statSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, dirname, isAbsolute, join } from "node:path"
import { fileURLToPath } from "node:url"

export const binaryName = process.platform === "win32" ? "magicctx-host.exe" : "magicctx-host"

/**
 * Returns the path of the host: $MAGICCTX_HOST, else the host that was packaged with the bundle at bundleURL, else
 * the one on PATH. Throws an error that lists the places it tried.
 */
export function locateHost(bundleURL: string, env: NodeJS.ProcessEnv = process.env): string {
  if (env.MAGICCTX_HOST) {
    // The user has chosen this path, so no other one is tried.
    if (isExecutable(env.MAGICCTX_HOST)) return env.MAGICCTX_HOST
    throw new Error(`MAGICCTX_HOST names ${env.MAGICCTX_HOST}, which is not an executable file`)
  }
  const tried: string[] = []
  const packaged = packagedHost(bundleURL, tried)
  if (packaged) return packaged
  for (const dir of (env.PATH ?? "").split(delimiter)) {
    // A relative entry like "." would run any file that a project brings along.
    if (isAbsolute(dir) && isExecutable(join(dir, binaryName))) return join(dir, binaryName)
  }
  throw new Error(`no ${binaryName} found; tried MAGICCTX_HOST (not set), ${tried.join(", ")}, PATH`)
}

/** Returns the path of the host that was packaged with the bundle at bundleURL. Adds the places it tried to tried. */
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
