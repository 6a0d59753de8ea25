import { asError } from "./connection.ts"
import type { Handlers } from "./directories.ts"
import { Method, type AgentFailure, type AgentRunParams, type AgentRunResult } from "./generated/protocol.ts"

/** Runs an agent in the harness until it answers or the signal aborts. It may throw. */
export type RunAgent = (params: AgentRunParams, signal: AbortSignal) => Promise<AgentRunResult>

/**
 * The runs of hidden agents of one plugin instance. A run ends early if its time is over, if the host withdraws it, or
 * if the connection is lost, because the next host does not know the run.
 */
export class AgentRuns {
  readonly handlers: Pick<Handlers, typeof Method.AgentRun | typeof Method.AgentAbort> = {
    [Method.AgentRun]: (params, withdrawn) => this.#run(params, withdrawn),
    [Method.AgentAbort]: async ({ run }) => {
      this.#running.get(run)?.abort("aborted")
      return {}
    },
  }
  readonly #running = new Map<string, AbortController>()
  readonly #begin: RunAgent

  constructor(begin: RunAgent) {
    this.#begin = begin
  }

  /** Ends all runs. It is called when the harness exits or disposes of the instance. */
  stop(): void {
    for (const stop of this.#running.values()) stop.abort("aborted")
  }

  async #run(params: AgentRunParams, withdrawn: AbortSignal): Promise<AgentRunResult> {
    const stop = new AbortController()
    this.#running.set(params.run, stop)
    const timer = setTimeout(() => stop.abort("timeout"), params.timeoutMs)
    withdrawn.addEventListener("abort", () => stop.abort("aborted"), { once: true })
    const run = await this.#begin(params, stop.signal).catch((err) => result([], asError(err).message))
    clearTimeout(timer)
    this.#running.delete(params.run)
    if (run.failure && stop.signal.aborted) run.failure.reason = stop.signal.reason as AgentFailure["reason"]
    return run
  }
}

/** The result of a run. An error, if there is one, is in the harness's own form. */
export function result(answers: unknown[], error?: unknown): AgentRunResult {
  return error === undefined ? { answers } : { answers, failure: { reason: "error", error } }
}
