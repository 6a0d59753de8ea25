// The pinned Node that runs Pi in tests has a command "node". npm puts this command into node_modules/.bin,
// which comes first in the PATH of npm scripts. So all scripts of the repository would silently run in the
// pinned Node. npm ci runs this file, which removes the command.
import { rmSync } from "node:fs"
import { join } from "node:path"

const bin = join(import.meta.dirname, "..", "..", "node_modules", ".bin")
for (const name of ["node", "node.cmd", "node.ps1"]) rmSync(join(bin, name), { force: true })
