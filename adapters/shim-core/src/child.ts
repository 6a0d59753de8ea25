import { spawn, type ChildProcess } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import type { Log } from "./log.ts"

/** How long a child that was asked to end may take before it is killed, ms. */
const defaultGraceMS = 2000

/** A running host and the streams that carry the protocol. */
export interface Child {
  readonly pid: number | undefined
  readonly input: Writable
  readonly output: Readable
  /** Resolves with a sentence when the process has ended or could not start; never rejects. */
  readonly ended: Promise<string>
  /** Closes the child's stdin, waits, then kills. */
  stop(graceMS?: number): void
}

/** The pipes of a child that has ended may be held open by its children; its last words are waited for no longer than this, ms. */
const lastWordsMS = 100

/** Starts `<path> stdio`. The child does not keep this process alive; its stderr goes to the log's file. */
export function startHost(path: string, log: Log): Child {
  const extra = (process.env.MAGICCTX_HOST_ARGS ?? "").split(/\s+/).filter(Boolean)
  const child = spawn(path, ["stdio", ...extra], {
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  })
  unref(child)
  const words = lastWords(child.stderr!, log)
  const ended = new Promise<string>((resolve) => {
    child.once("error", (err) => resolve(`${path}: ${err.message}`))
    child.once("exit", (code, signal) => {
      // The program says itself what is wrong; its code says only that something is.
      const say = () => resolve(words() || `the host ended with ${signal ?? `code ${code}`}`)
      setTimeout(say, lastWordsMS).unref()
      child.once("close", say)
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

function unref(child: ChildProcess): void {
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as { unref?(): void } | null)?.unref?.()
}

const longestWordsBytes = 4096

/** Copies stderr to the log and returns what tells its last line, unless that is one of the log's. */
function lastWords(stderr: Readable, log: Log): () => string {
  let text = ""
  stderr.on("data", (chunk: Buffer) => {
    log.raw(chunk)
    text = (text + chunk.toString()).slice(-longestWordsBytes)
  })
  stderr.on("error", () => {})
  return () => {
    const last = text.trimEnd().split("\n").at(-1) ?? ""
    return last.startsWith("{") ? "" : last.replace(/^magicctx-host: /, "")
  }
}
