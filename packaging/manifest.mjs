
/** The platforms of the host, both in npm's names (os, cpu) and in Go's names (GOOS, GOARCH). */
export const platforms = [
  { os: "linux", cpu: "x64", goos: "linux", goarch: "amd64" },
  { os: "linux", cpu: "arm64", goos: "linux", goarch: "arm64" },
  { os: "darwin", cpu: "x64", goos: "darwin", goarch: "amd64" },
  { os: "darwin", cpu: "arm64", goos: "darwin", goarch: "arm64" },
  { os: "win32", cpu: "x64", goos: "windows", goarch: "amd64" },
  { os: "win32", cpu: "arm64", goos: "windows", goarch: "arm64" },
]

// Without this setting, npm publishes a package with a scope as private.
const publishConfig = { access: "public" }

/** The package that the shim's locator looks for. */
export const hostPackage = ({ os, cpu }) => `@magicctx/host-${os}-${cpu}`

export const hostBinary = ({ os }) => (os === "win32" ? "magicctx-host.exe" : "magicctx-host")

/**
 * Creates the manifest with which a shim is published. source is the manifest in the shim's workspace. The result lacks
 * the fields that only the build needs.
 */
export function shimManifest(source) {
  const { scripts, devDependencies, private: isPrivate, ...published } = source
  return {
    ...published,
    publishConfig,
    // All packages have the same command, because all harnesses share one host. It is the only command of a package, so
    // `npx @magicctx/opencode install opencode` finds it.
    bin: { "magicctx-host": "dist/launcher.js" },
    // npm installs only the package for the user's platform and skips the others. So no install script is needed, and
    // the harnesses would not run one anyway.
    optionalDependencies: Object.fromEntries(platforms.map((platform) => [hostPackage(platform), source.version])),
  }
}

/**
 * Creates the manifest of the host's package for a platform. It must not have the field `exports`. With this field, the
 * shim could not find the package, because it asks Node for the path of the package's package.json.
 */
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
