
/** The platforms of the host, in the terms of npm (os, cpu) and of Go (GOOS, GOARCH). */
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
 * Creates the published manifest of a shim from source, the manifest in its workspace, without what only the build
 * needs.
 */
export function shimManifest(source) {
  const { scripts, devDependencies, private: isPrivate, ...published } = source
  return {
    ...published,
    publishConfig,
    // All harnesses share one host, so all packages have the same command. Because it is a package's only command, `npx
    // @magicctx/opencode install opencode` finds it.
    bin: { "magicctx-host": "dist/launcher.js" },
    // npm installs the package for the user's platform and skips the others. No install script is needed. The harnesses
    // would not run one.
    optionalDependencies: Object.fromEntries(platforms.map((platform) => [hostPackage(platform), source.version])),
  }
}

/** The shim looks for the package.json of the host's package, so the manifest must not have `exports`. */
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
