// Builds the plugin, and copies two bundles into internal/bundle, where the host embeds them: opencode-shim.js, and
// opencode-tui.js for terminals. The copies are committed, because `go install` must work without Node.
// test/bundle.test.ts fails if a copy is stale.
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const workspace = join(import.meta.dirname, "..")
const out = mkdtempSync(join(tmpdir(), "magicctx-bundle-"))
try {
  execFileSync(process.execPath, [join(workspace, "build.mjs"), out], { stdio: "inherit" })
  const embedded = join(workspace, "..", "..", "internal", "bundle")
  copyFileSync(join(out, "index.js"), join(embedded, "opencode-shim.js"))
  copyFileSync(join(out, "tui.js"), join(embedded, "opencode-tui.js"))
} finally {
  rmSync(out, { recursive: true, force: true })
}
