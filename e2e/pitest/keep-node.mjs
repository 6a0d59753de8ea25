// Runs after npm ci. The pinned Node that runs Pi in tests has a command named "node". npm puts it into
// node_modules/.bin, which comes first in the PATH of npm scripts. Without this file, all scripts of the
// repository would silently run in that Node, and not in the one that their user has chosen.
import { rmSync } from "node:fs"
import { join } from "node:path"

const bin = join(import.meta.dirname, "..", "..", "node_modules", ".bin")
for (const name of ["node", "node.cmd", "node.ps1"]) rmSync(join(bin, name), { force: true })
