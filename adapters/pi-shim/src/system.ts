import type { Passes, SystemPrompts } from "@magicctx/shim-core"
import { nameOf } from "./limits.ts"
import type { BeforeAgentStart, Context, ContextEvent, Message, PromptOptions, SystemMessage } from "./pi.ts"

/** The part of an instance that asks for system prompts. */
interface Asker {
  readonly directory: string
  readonly systems: SystemPrompts
  readonly passes: Passes
}

/**
 * The system prompt of the running turn.
 *
 * From 0.87 on, each request carries its system prompt as a message, which the event context_with_system lets us
 * replace. So every request gets the host's prompt, also in a run that no prompt of the user has started. An extension
 * may force a prompt upon the run, though, and Pi puts that in place of the message afterwards; then ours is forced, too.
 *
 * Before that, a prompt can be set only at the start of a run, and holds until its end.
 */
export class RunPrompt {
  /** From 0.87 on: the options of the run, until the next event tells whether an extension has forced a prompt. */
  private options: PromptOptions | undefined
  /** The prompt that another extension has forced upon the run, and ours that stands in its place. */
  private forced: { theirs: string; ours: string } | undefined
  /** Before 0.87: whether the run has the host's prompt. */
  private fixed: "replayed" | "bare" | undefined

  /** A run begins. Returns the prompt of the run if it cannot be set later. */
  async begin(asker: Asker, event: BeforeAgentStart, ctx: Context): Promise<{ systemPrompt: string } | undefined> {
    this.end()
    if (typeof ctx.sessionManager.buildSessionProjection === "function") {
      this.options = event.systemPromptOptions
      return undefined
    }
    this.fixed = "bare"
    const answer = await ask(asker, event.systemPrompt, ctx)
    this.fixed = "replayed"
    return answer === undefined ? undefined : { systemPrompt: answer }
  }

  /** Sets the prompt of one request, whose messages include the system messages. */
  async request<M extends Message>(asker: Asker, { messages }: ContextEvent<M>, ctx: Context): Promise<{ messages: M[] } | undefined> {
    if (this.options?.forceSystemPrompt !== undefined) {
      const theirs = this.options.forceSystemPrompt
      this.forced = { theirs, ours: theirs }
      const ours = (await ask(asker, theirs, ctx)) ?? theirs
      this.options.forceSystemPrompt = this.forced.ours = ours
      this.options = undefined
      return undefined
    }
    this.options = undefined
    if (this.forced) {
      // Pi has copied the options, so this run keeps the prompt that it has.
      const { theirs, ours } = this.forced
      if (((await ask(asker, theirs, ctx)) ?? theirs) !== ours) asker.passes.leavesWith("bare", sessionOf(ctx))
      return undefined
    }
    const [head, ...rest] = messages as Message[]
    if (head?.role !== "system") return undefined
    const { sections: _, ...others } = head as SystemMessage
    const answer = await ask(asker, textOf(head as SystemMessage), ctx)
    if (answer === undefined) return undefined
    return { messages: [{ ...others, content: answer }, ...rest] as M[] }
  }

  /** Notes the prompt of the request that a pass was made for. From 0.87 on, request does that. */
  leaves({ passes }: Asker, session: string): void {
    if (this.fixed) passes.leavesWith(this.fixed, session)
  }

  /** The run is over. */
  end(): void {
    this.options = undefined
    this.forced = undefined
  }
}

async function ask({ directory, systems }: Asker, prompt: string, ctx: Context): Promise<string | undefined> {
  const model = nameOf(ctx.model) ?? { provider: "", id: "" }
  const system = await systems.ask({ session: sessionOf(ctx), directory, model, system: [prompt] })
  return system?.join("\n\n")
}

function sessionOf(ctx: Context): string {
  return ctx.sessionManager.getSessionId()
}

/** The prompt that Pi makes of a system message: its content, then its sections. */
function textOf({ content, sections }: SystemMessage): string {
  const blocks = typeof content === "string" ? [content] : Array.isArray(content) ? content.map((block: { text?: string }) => block.text ?? "") : []
  const parts = [blocks.join("\n"), ...Object.values(sections ?? {})]
  return parts.filter(Boolean).join("\n\n")
}
