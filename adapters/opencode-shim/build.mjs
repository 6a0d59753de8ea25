// Bundles the plugin into one file without dependencies: OpenCode resolves none for it.
import { readFileSync } from "node:fs"
import { build } from "esbuild"

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"))
const limitBytes = 100_000

const { metafile } = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ["src/index.ts"],
  outfile: "dist/index.js",
  bundle: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "es2022",
  define: { shimVersion: JSON.stringify(version) },
  metafile: true,
})
const { bytes } = metafile.outputs["dist/index.js"]
if (bytes > limitBytes) throw new Error(`dist/index.js has ${bytes} bytes; ${limitBytes} are allowed`)
console.log(`dist/index.js: ${bytes} bytes`)
