import { RpcError } from "./connection.ts"
import { Method, type InitializeResult, type SystemParams } from "./generated/protocol.ts"
import type { Host } from "./host.ts"
import { timeoutMS } from "./timeouts.ts"
import type { Passes } from "./passes.ts"

/** The part of a plugin instance that asks for system prompts. */
interface Asker {
  readonly enabled: InitializeResult | undefined
  readonly isInTrouble: boolean
  readonly host: Host
  readonly passes: Passes
}

/** Asks the host for the system prompts of sessions, and remembers its last answers. */
export class SystemPrompts {
  /**
   * The host's last answer to each session's system prompt, together with the question. An undefined answer leaves
   * the prompt unchanged.
   */
  private readonly last = new Map<string, { question: string; system: string[] | undefined }>()
  private readonly asker: Asker

  constructor(asker: Asker) {
    this.asker = asker
  }

  /**
   * Returns the system prompt to send; undefined if the prompt stays as it is. A request that is not part of the
   * session's conversation, for example for a title, has a prefix of its own.
   */
  async ask(params: SystemParams, isConversation = true): Promise<string[] | undefined> {
    const { enabled, isInTrouble, host, passes } = this.asker
    const { session } = params
    if (!(enabled || isInTrouble)) {
      if (isConversation) passes.leavesWith("bare", session)
      return undefined
    }
    const question = JSON.stringify(params)
    try {
      if (!enabled) throw new Error("no host")
      const { system } = await host.call(Method.System, params, { timeoutMS: Math.min(timeoutMS.system, enabled.transformTimeoutMs) })
      if (isConversation) {
        this.last.set(session, { question, system })
        passes.leavesWith("answered", session)
      }
      return system
    } catch (err) {
      // Use the last answer to the same question, if there is one. A prompt without the host's part would be another
      // prefix, so the provider would have to read all of it anew.
      const last = this.last.get(session)
      const isKnown = last?.question === question
      if (isConversation) passes.leavesWith(isKnown ? "replayed" : "bare", session)
      if (isKnown) return last.system
      if (err instanceof RpcError) throw err // any other failure means that there is no host, and the pass has said so already
      return undefined
    }
  }

  /** Forgets a session that is gone. */
  forget(session: string): void {
    this.last.delete(session)
  }
}
