import { spawn, type ChildProcess } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import { asError } from "./connection.ts"
import type { Harness } from "./generated/protocol.ts"
import type { Log } from "./log.ts"

/** If the child has not ended this long after stop was called, in ms, the shim kills it. */
const defaultGraceMS = 2000

/** A running host and the streams that carry the protocol. */
export interface Child {
  readonly pid: number | undefined
  readonly input: Writable
  readonly output: Readable
  /** Resolves with a sentence when the process has ended or could not start. Never rejects. */
  readonly ended: Promise<string>
  /** Closes the child's stdin, waits, then kills it. */
  stop(graceMS?: number): void
}

/**
 * After a child has exited, the shim waits this long for the rest of its stderr, in ms. It does not wait for the pipe
 * to close, because processes that the child has started may keep the pipe open.
 */
const lastErrorLineMS = 100

/** How a harness wants its child to be treated. */
export interface ChildOptions {
  /** The harness's name for `magicctx-host install`. */
  readonly harness: Harness
  /**
   * If true, the child keeps this process alive until stop is called. This is for harnesses that exit as soon as their
   * event loop is empty, even while a hook waits for the child. The child also gets its own process group, so that a
   * Ctrl-C in the terminal does not end it together with the harness.
   */
  readonly keepsAlive: boolean
}

/** Starts `<path> stdio`. Its stderr goes to the log's file. */
export function startHost(path: string, log: Log, { harness, keepsAlive }: ChildOptions): Child {
  const extra = (process.env.MAGICCTX_HOST_ARGS ?? "").split(/\s+/).filter(Boolean)
  const child = spawned(path, ["stdio", ...extra], harness, keepsAlive)
  if (!keepsAlive) unref(child)
  const lastLine = lastErrorLine(child.stderr!, log)
  const ended = new Promise<string>((resolve) => {
    child.once("error", (err) => resolve(cannotStart(path, err, harness)))
    child.once("exit", (code, signal) => {
      // The last line of stderr names the cause; the exit code only says that there was an error.
      const end = `ended with ${signal ?? `code ${code}`}`
      const report = () => resolve(lastLine() || (isCrash(signal) ? broken(path, end, harness) : "the host " + end))
      setTimeout(report, lastErrorLineMS).unref()
      child.once("close", report)
    })
  })
  let stopping = false
  return {
    pid: child.pid,
    input: child.stdin!,
    output: child.stdout!,
    ended,
    stop(graceMS = defaultGraceMS) {
      if (stopping) return
      stopping = true
      child.stdin!.end()
      const kill = setTimeout(() => child.kill("SIGKILL"), graceMS)
      kill.unref()
      void ended.then(() => clearTimeout(kill))
    },
  }
}

/** Starts a program. If the file is not a program, Node emits an error and Bun throws one. */
function spawned(path: string, args: string[], harness: Harness, detached: boolean): ChildProcess {
  try {
    return spawn(path, args, { stdio: ["pipe", "pipe", "pipe"], windowsHide: true, detached })
  } catch (err) {
    throw new Error(cannotStart(path, asError(err), harness))
  }
}

function cannotStart(path: string, { message }: Error, harness: Harness): string {
  return broken(path, `cannot be started (${message})`, harness)
}

/**
 * True if the signal shows that the file is probably an incomplete program, for example after a broken download. If a
 * complete program crashes, Go prints a report on stderr and exits without one of these signals.
 */
function isCrash(signal: string | null): boolean {
  return /^SIG(SEGV|BUS|ILL)$/.test(signal ?? "")
}

function broken(path: string, what: string, harness: Harness): string {
  return `${path} ${what}. Put a working magicctx-host in its place (build or download it again), or run "magicctx-host install ${harness}" with another one`
}

function unref(child: ChildProcess): void {
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as { unref?(): void } | null)?.unref?.()
}

const longestErrorBytes = 4096

/**
 * Copies stderr to the log. Returns a function that returns the last line of stderr, which says why the child has
 * ended. But a line in JSON is a log entry and gives no reason. In that case, the function returns "".
 */
function lastErrorLine(stderr: Readable, log: Log): () => string {
  let text = ""
  stderr.on("data", (chunk: Buffer) => {
    log.raw(chunk)
    text = (text + chunk.toString()).slice(-longestErrorBytes)
  })
  stderr.on("error", () => {})
  return () => {
    const last = text.trimEnd().split("\n").at(-1) ?? ""
    return last.startsWith("{") ? "" : last.replace(/^magicctx-host: /, "")
  }
}
