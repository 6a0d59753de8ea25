// What is published: the manifests of the npm packages.

/** Where a host runs: npm's words (os, cpu) beside Go's (GOOS, GOARCH). */
export const platforms = [
  { os: "linux", cpu: "x64", goos: "linux", goarch: "amd64" },
  { os: "linux", cpu: "arm64", goos: "linux", goarch: "arm64" },
  { os: "darwin", cpu: "x64", goos: "darwin", goarch: "amd64" },
  { os: "darwin", cpu: "arm64", goos: "darwin", goarch: "arm64" },
  { os: "win32", cpu: "x64", goos: "windows", goarch: "amd64" },
  { os: "win32", cpu: "arm64", goos: "windows", goarch: "arm64" },
]

// npm takes a package with a scope for a private one.
const publishConfig = { access: "public" }

/** The package that the shim's locator asks for. */
export const hostPackage = ({ os, cpu }) => `@magicctx/host-${os}-${cpu}`

export const hostBinary = ({ os }) => (os === "win32" ? "magicctx-host.exe" : "magicctx-host")

/** The shim's manifest: that of its workspace, source, without what only building needs. */
export function shimManifest(source) {
  const { scripts, devDependencies, private: isPrivate, ...published } = source
  return {
    ...published,
    publishConfig,
    // The only one, so `npx @magicctx/opencode install opencode` needs no name.
    bin: { "magicctx-host": "dist/launcher.js" },
    // npm installs the one that fits and skips the others, without any script:
    // OpenCode runs none when it installs a plugin.
    optionalDependencies: Object.fromEntries(platforms.map((platform) => [hostPackage(platform), source.version])),
  }
}

/** The manifest of one platform's host. It has no `exports`: the shim resolves its package.json. */
export function hostManifest(source, platform) {
  const { version, license, engines: { node } } = source
  return {
    name: hostPackage(platform),
    version,
    description: `The host of @magicctx/opencode for ${platform.os} ${platform.cpu}`,
    license,
    engines: { node },
    os: [platform.os],
    cpu: [platform.cpu],
    files: ["bin", "NOTICES.txt"],
    publishConfig,
    // Yarn's zipped packages cannot be executed.
    preferUnplugged: true,
  }
}
