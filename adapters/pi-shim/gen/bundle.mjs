// Writes the extension's bundle to internal/bundle/pi-shim.js, where the host embeds it. The file is committed, because
// `go install` must work without Node. test/bundle.test.ts fails if the file is stale.
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const workspace = join(import.meta.dirname, "..")
const out = mkdtempSync(join(tmpdir(), "magicctx-bundle-"))
try {
  execFileSync(process.execPath, [join(workspace, "build.mjs"), out], { stdio: "inherit" })
  copyFileSync(join(out, "index.js"), join(workspace, "..", "..", "internal", "bundle", "pi-shim.js"))
} finally {
  rmSync(out, { recursive: true, force: true })
}
