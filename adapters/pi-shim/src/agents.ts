import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { asError, result, type AgentRunParams, type AgentRunResult } from "@magicctx/shim-core"
import type { AssistantMessage, Open, TextBlock } from "./pi.ts"

/** How long a Pi process may take to end after its last event or after a signal, in ms. */
const graceMS = 2_000
/**
 * Lines of output with more bytes than this are skipped. Such lines occur because Pi 0.74 writes the whole message
 * again for each new piece of an answer.
 */
const longestLine = 16 << 20
const longestError = 2_000

/**
 * Runs a hidden agent in another process of Pi, without a session, extensions or the user's instructions. The prompt is
 * written to Pi's standard input, because it could be too long for an argument.
 */
export async function runAgent(open: Open | undefined, params: AgentRunParams, signal: AbortSignal): Promise<AgentRunResult> {
  const { directory, system, prompt, tools, steps, maxOutput } = params
  const model = params.model ?? (open?.ctx.model && `${open.ctx.model.provider}/${open.ctx.model.id}`)
  const slash = model?.indexOf("/") ?? -1
  if (model && open && !open.ctx.modelRegistry.find(model.slice(0, slash), model.slice(slash + 1))) {
    return result([], { name: "ProviderModelNotFoundError", data: { providerID: model.slice(0, slash), modelID: model.slice(slash + 1) } })
  }
  const dir = mkdtempSync(join(tmpdir(), "magicctx-agent-"))
  try {
    // If the value of --system-prompt is the path of a file, Pi reads the prompt from that file.
    const systemFile = join(dir, "system.md")
    writeFileSync(systemFile, system, { mode: 0o600 })
    // Pi asks the provider for the longest answer that its catalogue allows. No option of Pi lowers this limit, so a
    // small extension does.
    const bound = join(dir, "bound.js")
    if (maxOutput) writeFileSync(bound, `export default (pi) => pi.on("context", (_, { model }) => void (model.maxTokens = Math.min(model.maxTokens || ${maxOutput}, ${maxOutput})))`)
    // If Pi is a script, process.argv[1] is the script's path, and the new process needs it as an argument. If Pi is a
    // compiled binary, this file does not exist, and the argument is left out.
    const entry = process.argv[1]
    const args = [
      ...(entry && existsSync(entry) ? [entry] : []),
      ...["--print", "--mode", "json", "--no-session", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files"],
      ...(tools.length > 0 ? ["--tools", tools.join(",")] : ["--no-tools"]),
      ...["--system-prompt", systemFile, "--thinking", "off"],
      ...(model ? ["--model", model] : []),
      ...(maxOutput ? ["--extension", bound] : []),
    ]
    return await follow(new Pi(args, directory), prompt, steps, signal)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Collects the answers of a Pi process, and ends the process after the agent's last step. */
async function follow(pi: Pi, prompt: string, steps = Infinity, signal: AbortSignal): Promise<AgentRunResult> {
  const answers: Array<{ message: AssistantMessage }> = []
  let grace: NodeJS.Timeout | undefined
  pi.onEvent((event) => {
    clearTimeout(grace)
    const { type, message } = event
    // After these events, Pi may still retry. If Pi does not retry, its process may stay alive, so it is ended after a
    // while.
    if (type === "agent_end" || type === "agent_settled") grace = setTimeout(() => pi.end(), graceMS)
    if (type !== "message_end" || message?.role !== "assistant") return
    const { role, provider, model, usage, stopReason, errorMessage, timestamp } = message
    const content = Array.isArray(message.content) ? message.content.filter(({ type }: TextBlock) => type === "text") : []
    answers.push({ message: { role, provider, model, usage, stopReason, errorMessage, timestamp, content } as AssistantMessage })
    if (stopReason === "toolUse" && answers.length >= steps) pi.end()
  })
  const abort = () => pi.end()
  if (signal.aborted) abort()
  else signal.addEventListener("abort", abort, { once: true })
  const failure = await pi.run(prompt)
  clearTimeout(grace)
  const last = answers.at(-1)?.message
  const error = last?.stopReason === "error" || last?.stopReason === "aborted" ? (last.errorMessage ?? last.stopReason) : undefined
  return result(answers, error ?? (signal.aborted ? "aborted" : last ? undefined : failure))
}

interface PiEvent {
  type?: string
  message?: AssistantMessage
}

/** A process of Pi with its own process group, so that the shim can end it together with its tools. */
class Pi {
  readonly #child: ChildProcess
  #errors = ""
  /**
   * Whether the process has ended. If it has, it must not be sent a signal, because another process may have its id by
   * now.
   */
  #hasEnded = false

  constructor(args: string[], cwd: string) {
    // In a process with this variable, magicctx's own extension does nothing. A hidden agent needs no host.
    const env = { ...process.env, MAGICCTX_SUBAGENT: "1" }
    this.#child = spawn(process.execPath, args, { cwd, env, stdio: "pipe", windowsHide: true, detached: process.platform !== "win32" })
  }

  onEvent(take: (event: PiEvent) => void): void {
    lines(this.#child.stdout!, (line) => {
      try {
        take((JSON.parse(line) ?? {}) as PiEvent)
      } catch {
        // The line is not JSON, so it is not an event. For example, a library may have printed it.
      }
    })
  }

  /**
   * Sends the prompt, and waits until the process has ended. Returns the process's error output or, if there is none, a
   * sentence about its end, for example "Pi ended with code 1".
   */
  async run(prompt: string): Promise<string> {
    const child = this.#child
    child.stderr!.on("data", (chunk: Buffer) => (this.#errors = (this.#errors + chunk.toString()).slice(-longestError)))
    child.stdin!.on("error", () => {}) // a process that ends early does not read its prompt
    child.stdin!.end(prompt)
    // When this process exits, the listener kills the agent's process. If this process is killed, the listener does not
    // run. Then the agent's process ends by itself, because it can no longer write its output.
    const kill = () => this.#signal("SIGKILL")
    process.once("exit", kill)
    const how = await new Promise<string>((resolve) => {
      child.once("error", (err) => resolve(asError(err).message))
      child.once("exit", (code, signal) => {
        const report = () => resolve(`Pi ended with ${signal ?? `code ${code}`}`)
        child.once("close", report)
        setTimeout(report, graceMS).unref() // a tool may keep the output open
      })
    })
    process.off("exit", kill)
    kill() // kill the rest of the process group
    this.#hasEnded = true
    return this.#errors.trim() || how
  }

  end(): void {
    this.#signal("SIGTERM")
    setTimeout(() => this.#signal("SIGKILL"), graceMS).unref()
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this.#child
    if (pid === undefined || this.#hasEnded) return
    try {
      if (process.platform === "win32") spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }).on("error", () => {})
      else process.kill(-pid, signal)
    } catch {
      // the whole group has ended
    }
  }
}

/** Calls `take` for each line of the stream. Lines of more than longestLine bytes are skipped. */
export function lines(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let pieces: Buffer[] = []
  let length = 0
  stream.on("data", (chunk: Buffer) => {
    for (let from = 0; from < chunk.length; ) {
      const at = chunk.indexOf(10, from)
      const piece = chunk.subarray(from, at < 0 ? chunk.length : at)
      from += piece.length + 1
      length += piece.length
      if (length <= longestLine) pieces.push(piece)
      if (at < 0) return
      if (length <= longestLine) take(Buffer.concat(pieces).toString())
      pieces = []
      length = 0
    }
  })
}
