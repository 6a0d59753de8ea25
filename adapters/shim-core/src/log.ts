import { closeSync, fstatSync, lstatSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"

type Fields = Record<string, unknown>

/** A log of JSON lines. It never throws, because a shim must work even if it cannot write its log. */
export interface Log {
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  /** Adds a child's stderr output unchanged. */
  raw(bytes: Uint8Array): void
}

export const silent: Log = { info() {}, warn() {}, raw() {} }

const retentionDays = 7

/**
 * The size at which a log is renamed to <name>-<pid>.old.log. If there is already an older log with that name, it is
 * replaced.
 */
export const maxLogBytes = 5 << 20

/**
 * Opens <tmp>/magicctx-<user>/<name>-<pid>.log for appending. It removes logs with the same name to which nobody has
 * written for a week. A process has at most two logs of 5 MB each, however long it runs, and however much its host
 * writes to stderr.
 */
export function openLog(name: string): Log {
  try {
    const dir = privateDirectory()
    removeOld(dir, name)
    return fileLog(join(dir, `${name}-${process.pid}`))
  } catch {
    return silent
  }
}

function fileLog(path: string): Log {
  let fd = openSync(`${path}.log`, "a", 0o600)
  let size = fstatSync(fd).size
  const rotate = () => {
    closeSync(fd) // Windows cannot rename an open file
    fd = -1
    renameSync(`${path}.log`, `${path}.old.log`)
    fd = openSync(`${path}.log`, "a", 0o600)
    size = 0
  }
  const raw = (bytes: Uint8Array) => {
    try {
      if (fd === -1) return // the log could not be opened again
      if (size > 0 && size + bytes.length > maxLogBytes) rotate()
      size += writeSync(fd, bytes)
    } catch {
      // a full disk must not make a turn fail
    }
  }
  const write = (level: string, message: string, fields?: Fields) => {
    raw(Buffer.from(JSON.stringify({ time: new Date().toISOString(), level, msg: message, ...fields }) + "\n"))
  }
  return {
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    raw,
  }
}

/**
 * Creates a directory that only this user can read. This is necessary because all users of a machine share the
 * directory for temporary files.
 */
function privateDirectory(): string {
  const { uid, username } = userInfo()
  const dir = join(tmpdir(), `magicctx-${uid >= 0 ? uid : username}`)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const stat = lstatSync(dir)
  if (!stat.isDirectory() || (uid >= 0 && stat.uid !== uid)) throw new Error(`${dir} belongs to another user`)
  return dir
}

function removeOld(dir: string, name: string): void {
  const oldest = Date.now() - retentionDays * 24 * 3600 * 1000
  for (const file of readdirSync(dir)) {
    if (!file.startsWith(`${name}-`) || !file.endsWith(".log")) continue
    const path = join(dir, file)
    if (statSync(path).mtimeMs < oldest) rmSync(path, { force: true })
  }
}
