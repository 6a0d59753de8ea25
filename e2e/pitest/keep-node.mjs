// The pinned Node that runs Pi in tests has a command "node". npm puts it into node_modules/.bin, and would then run
// all scripts of the repository with it. So after npm ci, this file removes the command.
import { rmSync } from "node:fs"
import { join } from "node:path"

const bin = join(import.meta.dirname, "..", "..", "node_modules", ".bin")
for (const name of ["node", "node.cmd", "node.ps1"]) rmSync(join(bin, name), { force: true })
