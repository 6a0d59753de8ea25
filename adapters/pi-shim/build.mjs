// Bundles the extension, and the launcher of the npm package. Each bundle is one file with all dependencies, because Pi
// installs no dependencies for a file that its settings name.
//
//   node build.mjs [OUTDIR]    the default is dist
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"))
const limitBytes = 61_500

const outdir = process.argv[2] ?? join(import.meta.dirname, "dist")

const { metafile } = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ["src/index.ts", "src/launcher.ts"],
  outdir,
  bundle: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "es2022",
  define: { shimVersion: JSON.stringify(version) },
  metafile: true,
})
for (const [name, { bytes }] of Object.entries(metafile.outputs)) {
  if (bytes > limitBytes) throw new Error(`${name} has ${bytes} bytes; ${limitBytes} are allowed`)
  console.log(`${name}: ${bytes} bytes`)
}
