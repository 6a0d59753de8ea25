import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"
import { ProtocolMajor, type InitializeResult } from "./generated/protocol.ts"

/**
 * Stores the host's tools and commands between two starts of a harness. A harness accepts them only while it starts. If
 * the host is missing at that moment, the harness gets the stored tools and commands.
 */
export class Registrations {
  readonly #dir: string
  /**
   * The answer that was stored last. Every pass calls `remember`, usually with the same answer, which need not be
   * stored again.
   */
  #stored: InitializeResult | undefined

  /** `name` contains the shim and its version, because another version may register other tools and commands. */
  constructor(name: string, env: NodeJS.ProcessEnv = process.env) {
    const base = env.XDG_STATE_HOME
    const state = base && isAbsolute(base) ? base : process.platform === "win32" && env.LOCALAPPDATA ? env.LOCALAPPDATA : join(homedir(), ".local", "state")
    this.#dir = join(state, "magicctx", `${name}-${ProtocolMajor}`)
  }

  /**
   * Stores the host's answer for the directory, unless this answer object was the last one stored. The host's answers
   * for two directories are never the same object. Never throws, because a harness also works without the file.
   */
  remember(directory: string, answer: InitializeResult): void {
    if (answer === this.#stored) return
    const { warnings: _, ...result } = answer
    try {
      const path = this.#path(directory)
      const text = JSON.stringify(result)
      if (read(path) !== text) {
        mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
        const temporary = `${path}.${process.pid}`
        writeFileSync(temporary, text, { mode: 0o600 })
        renameSync(temporary, path)
        this.#prune()
      }
      this.#stored = answer
    } catch {
      // the next start will ask the host
    }
  }

  /**
   * Returns the last answer for the directory. If there is none, returns the last answer for another directory in which
   * the host is not off, because the tools rarely differ between directories.
   */
  recall(directory: string): InitializeResult | undefined {
    const own = this.#path(directory)
    for (const path of [own, ...this.#newestFirst()]) {
      try {
        const answer = JSON.parse(read(path) ?? "") as InitializeResult
        if (answer.enabled || path === own) return answer
      } catch {
        // the file is missing or incomplete
      }
    }
    return undefined
  }

  #path(directory: string): string {
    return join(this.#dir, `${createHash("sha256").update(directory).digest("hex").slice(0, 16)}.json`)
  }

  #newestFirst(): string[] {
    try {
      const paths = readdirSync(this.#dir).filter((name) => name.endsWith(".json")).map((name) => join(this.#dir, name))
      return paths.map((path) => ({ path, at: statSync(path).mtimeMs })).sort((a, b) => b.at - a.at).map(({ path }) => path)
    } catch {
      return []
    }
  }

  #prune(): void {
    for (const path of this.#newestFirst().slice(mostDirectories)) rmSync(path, { force: true })
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
