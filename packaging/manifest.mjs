
/** The platforms of the host, in npm's words (os, cpu) and in Go's (GOOS, GOARCH). */
export const platforms = [
  { os: "linux", cpu: "x64", goos: "linux", goarch: "amd64" },
  { os: "linux", cpu: "arm64", goos: "linux", goarch: "arm64" },
  { os: "darwin", cpu: "x64", goos: "darwin", goarch: "amd64" },
  { os: "darwin", cpu: "arm64", goos: "darwin", goarch: "arm64" },
  { os: "win32", cpu: "x64", goos: "windows", goarch: "amd64" },
  { os: "win32", cpu: "arm64", goos: "windows", goarch: "arm64" },
]

// By default npm publishes a package with a scope as private.
const publishConfig = { access: "public" }

/** The package that the shim's locator looks for. */
export const hostPackage = ({ os, cpu }) => `@magicctx/host-${os}-${cpu}`

export const hostBinary = ({ os }) => (os === "win32" ? "magicctx-host.exe" : "magicctx-host")

/**
 * Source is the manifest of the shim's workspace. The published manifest leaves out everything that only the build
 * needs.
 */
export function shimManifest(source) {
  const { scripts, devDependencies, private: isPrivate, ...published } = source
  return {
    ...published,
    publishConfig,
    // All packages share one bin, because people and messages name it, and because one host serves all
    // harnesses. With only one bin, `npx @magicctx/opencode install opencode` needs no name.
    bin: { "magicctx-host": "dist/launcher.js" },
    // npm installs the package that fits and skips the others. The harnesses run no install script when they
    // install a plugin, and none is needed.
    optionalDependencies: Object.fromEntries(platforms.map((platform) => [hostPackage(platform), source.version])),
  }
}

/** The shim resolves the package.json of the host's package, so the manifest has no `exports`. */
export function hostManifest(source, platform) {
  const { version, license, engines: { node } } = source
  return {
    name: hostPackage(platform),
    version,
    description: `The host of @magicctx/opencode and @magicctx/pi for ${platform.os} ${platform.cpu}`,
    license,
    engines: { node },
    os: [platform.os],
    cpu: [platform.cpu],
    files: ["bin", "NOTICES.txt"],
    publishConfig,
    // Yarn cannot execute a binary in a zipped package.
    preferUnplugged: true,
  }
}
