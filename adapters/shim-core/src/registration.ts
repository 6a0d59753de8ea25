import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"
import { ProtocolMajor, type InitializeResult } from "./generated/protocol.ts"

/**
 * What the host asked to be registered, kept between the starts of a harness:
 * a harness takes tools and commands only while it starts, and without this a
 * host that was away just then would be without them until the next start.
 */
export class Registrations {
  private readonly dir: string

  /** The name is that of shim and version: another one may register otherwise. */
  constructor(name: string, env: NodeJS.ProcessEnv = process.env) {
    const base = env.XDG_STATE_HOME
    const state = base && isAbsolute(base) ? base : process.platform === "win32" && env.LOCALAPPDATA ? env.LOCALAPPDATA : join(homedir(), ".local", "state")
    this.dir = join(state, "magicctx", `${name}-${ProtocolMajor}`)
  }

  /** Keeps the host's answer for a directory. Never fails: it is an aid. */
  remember(directory: string, { warnings: _, ...result }: InitializeResult): void {
    try {
      const path = this.path(directory)
      const text = JSON.stringify(result)
      if (read(path) === text) return
      mkdirSync(this.dir, { recursive: true, mode: 0o700 })
      const temporary = `${path}.${process.pid}`
      writeFileSync(temporary, text, { mode: 0o600 })
      renameSync(temporary, path)
      this.prune()
    } catch {
      // the next start will ask the host
    }
  }

  /** The last answer for a directory, or else for any: the tools rarely differ. */
  recall(directory: string): InitializeResult | undefined {
    for (const path of [this.path(directory), ...this.newestFirst()]) {
      try {
        return JSON.parse(read(path) ?? "") as InitializeResult
      } catch {
        // not there, or half of it
      }
    }
    return undefined
  }

  private path(directory: string): string {
    return join(this.dir, `${createHash("sha256").update(directory).digest("hex").slice(0, 16)}.json`)
  }

  private newestFirst(): string[] {
    try {
      const paths = readdirSync(this.dir).filter((name) => name.endsWith(".json")).map((name) => join(this.dir, name))
      return paths.map((path) => ({ path, at: statSync(path).mtimeMs })).sort((a, b) => b.at - a.at).map(({ path }) => path)
    } catch {
      return []
    }
  }

  private prune(): void {
    for (const path of this.newestFirst().slice(mostDirectories)) rmSync(path, { force: true })
  }
}

const mostDirectories = 100

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}
