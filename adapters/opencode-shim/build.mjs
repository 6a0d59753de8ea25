// Bundles the plugin, its half for terminals, and the launcher of the npm package. Each bundle is one file with all
// dependencies, because OpenCode resolves no packages for a plugin. Only Solid is left out: OpenCode provides Solid to
// plugins in its terminals.
//
//   node build.mjs [OUTDIR]    the default is dist
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"))
const limitBytes = 90_000 // both halves

const outdir = process.argv[2] ?? join(import.meta.dirname, "dist")

const { metafile } = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ["src/index.ts", "src/tui.ts", "src/launcher.ts"],
  outdir,
  bundle: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "es2022",
  external: ["solid-js", "@opentui/solid"],
  define: { shimVersion: JSON.stringify(version) },
  metafile: true,
})
for (const [name, { bytes }] of Object.entries(metafile.outputs)) {
  if (bytes > limitBytes) throw new Error(`${name} has ${bytes} bytes; ${limitBytes} are allowed`)
  console.log(`${name}: ${bytes} bytes`)
}
