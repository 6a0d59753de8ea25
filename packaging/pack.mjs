// Packs the packages that users install: the shim for each harness, and the host for each platform.
//
//   node packaging/pack.mjs            this machine's platform, to dist/npm
//   node packaging/pack.mjs --all      all platforms
//   node packaging/pack.mjs --out DIR  to DIR
//
// The version comes from the manifests of the shims. The same sources, Go, npm and Node produce the same bytes.
import { execFileSync } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { hostBinary, hostManifest, hostPackage, platforms, shimManifest } from "./manifest.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const repository = dirname(here)
const shims = [
  { folder: "opencode-shim", readme: "opencode.md" },
  { folder: "pi-shim", readme: "pi.md" },
]
const binaryLimitBytes = 32_000_000

/** Returns a line for each tarball. */
export function pack(chosen, out) {
  const sources = shims.map(({ folder }) => JSON.parse(readFileSync(join(repository, "adapters", folder, "package.json"), "utf8")))
  const [source] = sources
  if (sources.some(({ version }) => version !== source.version)) throw new Error("the shims have different versions")
  const stage = mkdtempSync(join(tmpdir(), "magicctx-pack-"))
  mkdirSync(out, { recursive: true })
  try {
    const packages = chosen.map((platform) => stageHost(join(stage, hostPackage(platform)), source, platform))
    packages.push(...shims.map((shim, i) => stageShim(join(stage, shim.folder), shim, sources[i])))
    return packages.map((folder) => tarball(folder, out))
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

function stageHost(folder, source, platform) {
  const binary = join(folder, "bin", hostBinary(platform))
  mkdirSync(dirname(binary), { recursive: true })
  const env = { ...process.env, ...goEnv, GOOS: platform.goos, GOARCH: platform.goarch }
  const ldflags = `-s -w -X github.com/magicctx/magicctx-host/rpc.Version=${source.version}`
  // The flags are the same as in the Taskfile, so the build cache is shared. -buildvcs=false keeps the state of the git
  // checkout out of the binary.
  run("go", ["build", "-trimpath", "-gcflags=all=-dwarf=false", "-buildvcs=false", "-ldflags", ldflags, "-o", binary, "./cmd/magicctx-host"], { cwd: repository, env })
  chmodSync(binary, 0o755)
  const { size } = statSync(binary)
  if (size > binaryLimitBytes) throw new Error(`the host for ${platform.os} ${platform.cpu} has ${size} bytes; ${binaryLimitBytes} are allowed`)
  writeFileSync(join(folder, "NOTICES.txt"), notices(platform))
  const manifest = hostManifest(source, platform)
  describe(folder, manifest, readFileSync(join(here, "host.md"), "utf8").replaceAll("{{name}}", manifest.name))
  return folder
}

/** The host must be shipped with the licences of Go and of all its modules. */
function notices({ goos, goarch }) {
  return run("go", ["run", "-C", "tools", "./release", "-notices", `${goos}/${goarch}`], { cwd: repository })
}

/**
 * The result must not depend on the machine on which the build runs. So the build uses no C, and the program runs on
 * the oldest processors of each architecture.
 */
const goEnv = { CGO_ENABLED: "0", GOAMD64: "v1", GOARM64: "v8.0", GOFLAGS: "" }

function stageShim(folder, shim, source) {
  run(process.execPath, [join(repository, "adapters", shim.folder, "build.mjs"), join(folder, "dist")], { cwd: repository })
  chmodSync(join(folder, "dist", "launcher.js"), 0o755)
  describe(folder, shimManifest(source), readFileSync(join(here, shim.readme), "utf8"))
  return folder
}

function describe(folder, manifest, readme) {
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n")
  writeFileSync(join(folder, "README.md"), readme)
  copyFileSync(join(repository, "LICENSE"), join(folder, "LICENSE"))
}

// npm sorts the files of a tarball and gives all of them the same time, so the bytes are reproducible.
function tarball(folder, out) {
  const [{ filename, size, unpackedSize, files }] = JSON.parse(
    run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", out, folder], { shell: process.platform === "win32" }),
  )
  for (const { path, mode } of files) {
    // There is no install script to set the mode, so the mode in the tarball must be right.
    if (/^(bin|dist\/launcher)/.test(path) && (mode & 0o111) !== 0o111) {
      throw new Error(`${filename}: ${path} is not executable; pack on Linux or macOS`)
    }
  }
  return { path: join(out, filename), size, unpackedSize }
}

const run = (program, args, options) => execFileSync(program, args, { ...options, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { all: { type: "boolean" }, out: { type: "string" } } })
  const isHere = ({ os, cpu }) => os === process.platform && cpu === process.arch
  const chosen = platforms.filter((platform) => values.all || isHere(platform))
  const out = resolve(values.out ?? join(repository, "dist", "npm"))
  try {
    for (const { path, size, unpackedSize } of pack(chosen, out)) {
      console.log(`${(size / 1e6).toFixed(2).padStart(6)} MB packed ${(unpackedSize / 1e6).toFixed(2).padStart(6)} MB unpacked  ${path}`)
    }
  } catch (err) {
    console.error(`pack: ${err.message}`) // the command's own message is on stderr already
    process.exitCode = 1
  }
}
