// Checks the extension against the type declarations of each supported version of Pi.
//
//   npm run typecheck:pi
//
// 0.74.2 and 0.87.1 are dependencies of the tests. 1.5.2 cannot be installed, because one of its dependencies was never
// published. So its packages are fetched one by one into node_modules/.cache, each with a pinned digest.
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fetched } from "../../fetched.mjs"

const root = join(import.meta.dirname, "..", "..", "..")
const modules = join(root, "node_modules")
const cache = join(modules, ".cache", "magicctx-pi-types")

const newest = "1.5.2"
const digests = {
  "pi-coding-agent": "sha512-mUWI04rqF1Vd/m1q+Ps1XeWsTXEVvRUnsmRa83I3Dzua0Tx5bYS93imeqtIfrXf7PkkaR6ERz+AuQhIJlom5yA==",
  "pi-ai": "sha512-2tWPSnV3qzfiDIY3aWluBag3vC++Vs+VsXt/UquSU5onPMohPih72FUhIhaqmDdMYubOgB3Byl9uF4Vk40JLvQ==",
  "pi-agent-core": "sha512-ie5mejS7mGfXt//9As7i3LfxVXdktZvF1JP4EQsUXTp4mU437h23MNGx7wXZ5VYs3YiG/Qnj3e7OZ2HC069OMw==",
}

/** Compiles files against one version of Pi's package. Returns true if the compiler found no error. */
function check(version, pi, files) {
  const config = join(cache, `tsconfig-${version}.json`)
  mkdirSync(cache, { recursive: true })
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: { paths: { "@earendil-works/pi-coding-agent": [join(pi, "dist", "index.d.ts")] }, typeRoots: [join(modules, "@types")] },
      include: [],
      files: files.map((name) => join(import.meta.dirname, name)),
    }),
  )
  const { status } = spawnSync(process.execPath, [join(modules, "typescript", "bin", "tsc"), "--noEmit", "-p", config], { stdio: "inherit" })
  console.log(`Pi ${version}: ${status === 0 ? "the extension fits its types" : "the extension does not fit its types"}`)
  return status === 0
}

const [newestPi] = Object.entries(digests).map(([name, digest]) =>
  fetched(`@earendil-works/${name}@${newest}`, digest, join(cache, newest, "node_modules", "@earendil-works", name)),
)
const results = [
  check("0.74.2", join(modules, "pi-0.74"), ["handlers.ts"]),
  check("0.87.1", join(modules, "pi-0.87"), ["handlers.ts", "handlers-new.ts"]),
  check(newest, newestPi, ["handlers.ts", "handlers-new.ts"]),
]
process.exit(results.every(Boolean) ? 0 : 1)
