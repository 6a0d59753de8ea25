// Writes the shims' generated files (see files.ts). `npm run generate` runs this program.
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { files } from "./files.ts"

for (const [name, content] of Object.entries(files)) {
  const path = join(import.meta.dirname, "../..", name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
