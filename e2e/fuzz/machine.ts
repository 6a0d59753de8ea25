import { Database } from "bun:sqlite"
import { spawnSync } from "node:child_process"
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Clock } from "./opencode.ts"

export class Machine implements Clock {
  readonly directory: string
  readonly project: string
  readonly data: string
  private offset = 0
  private readonly clockFile: string
  private readonly host: string
  private reader: Database | undefined
  private locker: Database | undefined
  private readonly hostLog: Tail

  /** Creates the directories, and sets the environment variables by which the shim finds them. */
  constructor(root: string, host: string, name: string, config: object) {
    this.host = host
    this.directory = join(root, name)
    this.project = join(this.directory, "project")
    this.data = join(this.directory, "data")
    this.clockFile = join(this.directory, "clock")
    const runtime = join(this.directory, "run")
    const configHome = join(this.directory, "config")
    for (const dir of [this.directory, this.project, this.data, runtime, join(configHome, "magicctx")]) mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeFileSync(join(configHome, "magicctx", "magicctx.jsonc"), JSON.stringify(config))
    this.move(0)
    Object.assign(process.env, {
      HOME: this.directory, XDG_RUNTIME_DIR: runtime, XDG_CONFIG_HOME: configHome, XDG_STATE_HOME: join(this.directory, "state"),
      XDG_DATA_HOME: join(this.directory, "share"), XDG_CACHE_HOME: join(this.directory, "cache"),
      MAGIC_CONTEXT_DATA_DIR: this.data, MAGICCTX_HOST: host, MAGICCTX_TEST_CLOCK: this.clockFile,
    })
    this.hostLog = new Tail(join(this.data, "logs", "host.log"))
  }

  now(): number {
    return Date.now() + this.offset
  }

  /** Moves the clock forward, for the host as well. */
  move(ms: number): void {
    this.offset += ms
    writeFileSync(this.clockFile, String(this.offset))
  }

  processes(): { pid: number; is: "host" | "bridge" }[] {
    const found: { pid: number; is: "host" | "bridge" }[] = []
    for (const { pid, parent, command } of allProcesses()) {
      if (!command.startsWith(this.host)) continue
      if (command.includes(" serve ") && command.includes(this.data)) found.push({ pid, is: "host" })
      else if (parent === process.pid && command.includes(" stdio")) found.push({ pid, is: "bridge" })
    }
    return found
  }

  kill(pids: readonly number[], signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" = "SIGKILL"): void {
    for (const pid of pids) {
      try {
        process.kill(pid, signal)
      } catch {
        // the process has already ended
      }
    }
  }

  /** Kills the host and removes its program, as an unfinished update does. */
  takeAway(): void {
    process.env.MAGICCTX_HOST = join(this.directory, "missing")
    this.kill(this.processes().map(({ pid }) => pid))
  }

  bringBack(): void {
    process.env.MAGICCTX_HOST = this.host
  }

  private get database(): string {
    return join(this.data, "magicctx.db")
  }

  read(sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
    if (!existsSync(this.database)) return []
    try {
      this.reader ??= new Database(this.database, { readonly: true })
      return this.reader.query(sql).all(...values)
    } catch {
      // The database is being created, or was removed.
      this.reader?.close()
      this.reader = undefined
      return []
    }
  }

  /**
   * Takes the database's write lock, as another program that writes to the database would. Returns false if the lock
   * cannot be taken, for example because the host holds it.
   */
  lock(): boolean {
    if (this.locker || !existsSync(this.database)) return false
    try {
      this.locker = new Database(this.database, { readwrite: true, create: false })
      this.locker.exec("PRAGMA busy_timeout = 200; BEGIN IMMEDIATE")
      return true
    } catch {
      this.unlock()
      return false
    }
  }

  unlock(): void {
    try {
      this.locker?.exec("ROLLBACK")
    } catch {
      // the lock was never taken
    }
    this.locker?.close()
    this.locker = undefined
  }

  /** Deletes the database, as a user who cleans up the directory would. */
  loseDatabase(): void {
    this.kill(this.processes().map(({ pid }) => pid))
    this.unlock()
    this.reader?.close()
    this.reader = undefined
    for (const name of readdirSync(this.data)) if (name.startsWith("magicctx.db")) rmSync(join(this.data, name), { force: true })
  }

  /**
   * Returns the errors in the host's log, except two expected ones: a killed bridge ends in the middle of a frame, and
   * the fuzzer itself locks the database.
   */
  errors(): string[] {
    return this.hostLog.lines().filter((line) => (line.includes('"level":"ERROR"') && !line.includes("cannot read on") && !line.includes("the database is busy")) || line.startsWith("panic:") || line.includes("fatal error:"))
  }

  remove(): void {
    this.unlock()
    this.reader?.close()
    this.kill(this.processes().map(({ pid }) => pid))
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Reads the lines that are added to a file. */
export class Tail {
  private at = 0
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

  lines(): string[] {
    let size = 0
    try {
      size = statSync(this.path).size
    } catch {
      return []
    }
    if (size <= this.at) return []
    const bytes = Buffer.alloc(size - this.at)
    const file = openSync(this.path, "r")
    const read = readSync(file, bytes, 0, bytes.length, this.at)
    closeSync(file)
    const text = bytes.toString("utf8", 0, read)
    const end = text.lastIndexOf("\n") + 1
    this.at += Buffer.byteLength(text.slice(0, end))
    return text.slice(0, end).split("\n").filter(Boolean)
  }
}

function allProcesses(): { pid: number; parent: number; command: string }[] {
  if (existsSync("/proc/self/stat")) {
    const found = []
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ")
        if (!command.includes("magicctx-host")) continue
        const stat = readFileSync(`/proc/${name}/stat`, "utf8")
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
        found.push({ pid: Number(name), parent, command })
      } catch {
        // the process has ended meanwhile
      }
    }
    return found
  }
  const { stdout } = spawnSync("ps", ["-axo", "pid=,ppid=,command="], { encoding: "utf8" })
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)
    return match ? [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3]! }] : []
  })
}
