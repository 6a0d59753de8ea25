import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { Host, silent, startHost, type InitializeParams, type InitializeResult } from "../src/index.ts"

declare const repository: string // defined by the test runner

export const fakeHostPath = () => join(repository, "adapters", "shim-core", "test", "fake-host.mjs")

/** The script of test/fake-host.mjs, where the options are described. */
export interface Script {
  results?: Record<string, unknown>
  errors?: Record<string, { code: number; message: string }>
  silent?: string[]
  deaf?: boolean
  deadly?: string
  dieOn?: Record<string, number | number[]>
  hostPids?: number[]
  stopOn?: Record<string, number>
  brokenStarts?: number
  tell?: Record<string, [method: string, params: unknown]>
  ask?: Record<string, [method: string, params: unknown]>
  passes?: Record<number, "forget" | "silent" | "error" | "bad" | "unfit" | "hard" | "die">
  drops?: Record<number, string>
  edits?: Record<number, Record<string, unknown[]>>
  heads?: Record<number, { start: number; head: unknown[] }>
}

export interface Entry {
  start?: string[]
  end?: boolean
  method?: string
  params?: Record<string, unknown>
  attachment?: unknown
  answer?: unknown
}

export const initialized: InitializeResult = {
  protocol: { major: 1, minor: 0 },
  hostVersion: "fake",
  hostPid: 1,
  storeSchema: 1,
  enabled: true,
  hooks: [],
  tools: [],
  commands: [],
  agents: [],
  transformTimeoutMs: 5000,
  resyncTimeoutMs: 5000,
}

export const opening = (directory: string): InitializeParams => ({
  protocol: { major: 1, minor: 0 },
  client: "test",
  clientVersion: "0",
  directory,
})

/** The fake host: the script that it follows, and the log that it writes. */
export class FakeHost {
  readonly dir = mkdtempSync(join(tmpdir(), "fake-host-"))

  constructor(script: Script = {}) {
    this.follow(script)
    process.env.FAKE_HOST = this.dir
  }

  follow(script: Script): void {
    const results = { initialize: initialized, ...script.results }
    const file = join(this.dir, "script.json")
    writeFileSync(file + ".new", JSON.stringify({ ...script, results }))
    renameSync(file + ".new", file) // the host may be reading the file
  }

  entries(): Entry[] {
    const file = join(this.dir, "log.jsonl")
    if (!existsSync(file)) return []
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Entry)
  }

  /**
   * The methods that the fake host has received since its first start. "start" and "end" mark the beginning and the end
   * of each process.
   */
  story(): string[] {
    return this.entries().map((entry) => entry.method ?? Object.keys(entry)[0]!)
  }

  received(method: string): Entry[] {
    return this.entries().filter((entry) => entry.method === method)
  }

  /** Waits until the log satisfies a condition. If it never does, the test's own timeout ends the wait. */
  async until(condition: (entries: Entry[]) => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!condition(this.entries())) return
        watcher.close()
        clearInterval(poll)
        resolve()
      }
      const watcher = watch(this.dir, check)
      const poll = setInterval(check, 50) // a watcher may miss events from before it is ready
      check()
    })
  }

  /** Removes the directory. It tries again if a host that is ending still writes into the directory. */
  async remove(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return rmSync(this.dir, { recursive: true, force: true })
      } catch (err) {
        if (tries === 100) throw err
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** A Host that runs the fake host. Both are gone when the test ends. */
export function fakeHost(t: TestContext, script: Script = {}): { host: Host; fake: FakeHost } {
  const fake = new FakeHost(script)
  const host = new Host(() => startHost(fakeHostPath(), silent, { harness: "opencode", keepsAlive: false }), silent)
  t.after(async () => {
    host.stop()
    await fake.remove()
  })
  return { host, fake }
}
