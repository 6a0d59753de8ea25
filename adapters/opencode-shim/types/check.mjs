// Checks two parts of the plugin against the declarations in OpenCode's package 1.18.33: the entry for OpenCode 2, and
// the half for the screen of OpenCode 1.
//
//   npm run typecheck:opencode
//
// No package declares the interface of 2.0.26. src/v2/opencode2.ts declares it by hand, so that the compiler refuses a
// member that 2.0.26 lacks.
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fetched } from "../../fetched.mjs"

const root = join(import.meta.dirname, "..", "..", "..")
const modules = join(root, "node_modules")
const cache = join(modules, ".cache", "magicctx-opencode-types")

const version = "1.18.33"
const digest = "sha512-fmhqCBJvNt+Vfbx6ckKP19S3xwMBhUXLCBQaK92R4wnv3wsWTZYkJQwYf2egiWfJNOl47jhs3vP7uQkl0mvHQw=="

const dir = fetched(`@opencode-ai/plugin@${version}`, digest, join(cache, version))

const config = join(cache, "tsconfig.json")
writeFileSync(
  config,
  JSON.stringify({
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      paths: {
        "@opencode-ai/plugin/v2/promise": [join(dir, "dist", "v2", "promise", "index.d.ts")],
        "@opencode-ai/plugin/tui": [join(dir, "dist", "tui.d.ts")],
      },
      typeRoots: [join(modules, "@types")],
    },
    include: [],
    files: [join(import.meta.dirname, "plugin.ts")],
  }),
)
const { status } = spawnSync(process.execPath, [join(modules, "typescript", "bin", "tsc"), "--noEmit", "-p", config], { stdio: "inherit" })
console.log(`OpenCode ${version}: ${status === 0 ? "the plugin fits its types" : "the plugin does not fit its types"}`)
process.exit(status)
