import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

/**
 * Downloads a package such as "@opencode-ai/plugin@1.18.33" into the directory `dir`, unless it is already there.
 * Returns the directory. Throws if the package does not have the digest, for example "sha512-fmhq…".
 */
export function fetched(spec, digest, dir) {
  if (existsSync(join(dir, "package.json"))) return dir
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  const npm = process.platform === "win32" ? "npm.cmd" : "npm"
  const out = execFileSync(npm, ["pack", "--json", "--pack-destination", dir, spec], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
  const tarball = join(dir, JSON.parse(out)[0].filename)
  const found = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`
  if (found !== digest) throw new Error(`${spec} has the digest ${found}, expected ${digest}`)
  execFileSync("tar", ["xzf", tarball, "-C", dir, "--strip-components=1"])
  rmSync(tarball)
  return dir
}
