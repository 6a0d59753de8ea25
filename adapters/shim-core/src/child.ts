import { spawn, type ChildProcess } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import type { Log } from "./log.ts"

/** How long a child that was asked to end may take before it is killed, ms. */
const graceMS = 2000

/** A running host and the streams that carry the protocol. */
export interface Child {
  readonly pid: number | undefined
  readonly input: Writable
  readonly output: Readable
  /** Resolves with a sentence when the process has ended or could not start; never rejects. */
  readonly ended: Promise<string>
  /** Closes the child's stdin, waits, then kills. */
  stop(): void
}

/** Starts `<path> stdio`. The child does not keep this process alive; its stderr goes to the log's file. */
export function startHost(path: string, log: Log): Child {
  const extra = (process.env.MAGICCTX_HOST_ARGS ?? "").split(/\s+/).filter(Boolean)
  const child = spawn(path, ["stdio", ...extra], {
    stdio: ["pipe", "pipe", log.fd ?? "ignore"],
    windowsHide: true,
  })
  unref(child)
  const ended = new Promise<string>((resolve) => {
    child.once("error", (err) => resolve(`${path}: ${err.message}`))
    child.once("exit", (code, signal) => resolve(`the host ended with ${signal ?? `code ${code}`}`))
  })
  let stopping = false
  return {
    pid: child.pid,
    input: child.stdin!,
    output: child.stdout!,
    ended,
    stop() {
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
  for (const stream of [child.stdin, child.stdout]) (stream as { unref?(): void } | null)?.unref?.()
}
