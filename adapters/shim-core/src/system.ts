import { asError, RpcError } from "./connection.ts"
import { Method, type InitializeResult, type SystemParams } from "./generated/protocol.ts"
import type { Host } from "./host.ts"
import type { Log } from "./log.ts"
import { timeoutMS } from "./timeouts.ts"
import type { SystemPrompt } from "./passes.ts"

/** The part of a plugin instance that asks for system prompts. */
interface Asker {
  readonly enabled: InitializeResult | undefined
  readonly isInTrouble: boolean
  readonly host: Host
  readonly log: Log
}

/** The system prompt of a request. */
export interface Prompt {
  /** Undefined if the prompt stays as it is. */
  readonly system: string[] | undefined
  readonly kind: SystemPrompt
  /** The host's refusal of the request. Absent if the shim repeats an earlier answer instead. */
  readonly refusal?: RpcError
}

const bare: Prompt = { system: undefined, kind: "bare" }

/** Asks the host for the system prompts of sessions, and remembers its last answers. */
export class SystemPrompts {
  /** For each session: the last question to the host about the system prompt, and the host's answer. */
  private readonly last = new Map<string, { question: string; system: string[] | undefined }>()
  private readonly asker: Asker

  constructor(asker: Asker) {
    this.asker = asker
  }

  /**
   * Returns the system prompt to send. Some requests are not a part of the session's conversation, for example a
   * request for a title. They have another prefix, so the host's answer to them is not remembered.
   */
  async ask(params: SystemParams, isConversation = true): Promise<Prompt> {
    const { enabled, isInTrouble, host, log } = this.asker
    if (!(enabled || isInTrouble)) return bare
    const { session } = params
    const question = JSON.stringify(params)
    try {
      if (!enabled) throw new Error("no host")
      const { system } = await host.call(Method.System, params, { timeoutMS: Math.min(timeoutMS.system, enabled.transformTimeoutMs) })
      if (isConversation) this.last.set(session, { question, system })
      return { system, kind: "answered" }
    } catch (err) {
      // If the host has answered the same question before, its answer is used again. Without the host's part of the
      // system prompt, the request would have another prefix, and the provider would have to process all of it again.
      const last = this.last.get(session)
      if (last?.question === question) {
        log.warn("system prompt repeated", { session, cause: asError(err).message })
        return { system: last.system, kind: "replayed" }
      }
      // Only an RpcError is an answer of the host: a refusal. After any other error, the host is gone or too slow. The
      // shim will notice this when it forwards the messages, and then tell the user.
      return err instanceof RpcError ? { ...bare, refusal: err } : bare
    }
  }

  /** Forgets a session that is gone. */
  forget(session: string): void {
    this.last.delete(session)
  }
}
