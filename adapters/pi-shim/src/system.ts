import type { Passes, Prompt, SystemPrompts } from "@magicctx/shim-core"
import { nameOf } from "./limits.ts"
import type { BeforeAgentStart, Context, ContextEvent, Message, PromptOptions, SystemMessage } from "./pi.ts"

interface Asker {
  readonly directory: string
  readonly systems: SystemPrompts
  readonly passes: Passes
}

/** `question` is Pi's system prompt, and `answer` the host's. */
interface Run {
  readonly question: string
  readonly answer: string | undefined
  readonly kind: Prompt["kind"]
}

/**
 * Holds the system prompt of a run, which is Pi's word for a turn. The shim asks the host for the prompt before the
 * run's first pass, and uses the answer for the whole run. If the host does not answer, the shim asks again before the
 * next pass.
 *
 * In Pi 0.87 and newer, the system prompt is the first message of each request. The shim replaces it in the event
 * context_with_system, which also comes for a run that no prompt of the user has started. There is one exception:
 * another extension may force its own prompt on the run. Pi inserts a forced prompt only after context_with_system, so
 * the shim must force the host's prompt on the run instead. Before 0.87, a system prompt can be set only at the start
 * of a run.
 */
export class RunPrompt {
  private run: Run | undefined
  /**
   * The options of the run. They are set only in Pi 0.87 and newer, and only until the run's first pass. By then, all
   * extensions have had the chance to change them.
   */
  private options: PromptOptions | undefined
  /** The prompt that another extension has forced on the run, and the shim's prompt that replaces it. */
  private forced: { theirs: string; ours: string } | undefined

  /** Called when a prompt of the user begins a run. Before 0.87, it returns the run's system prompt. */
  async begin(asker: Asker, event: BeforeAgentStart, ctx: Context): Promise<{ systemPrompt: string } | undefined> {
    this.end()
    if (canReplaceLater(ctx)) {
      this.options = event.systemPromptOptions as PromptOptions
      return undefined
    }
    const { answer } = await this.ask(asker, event.systemPrompt, ctx)
    return answer === undefined ? undefined : { systemPrompt: answer }
  }

  async prepare(asker: Asker, ctx: Context): Promise<void> {
    if (!canReplaceLater(ctx)) return
    const { forced, options } = this
    const current = ctx.getSystemPrompt()
    const question = forced && current === forced.ours ? forced.theirs : current
    // If the host did not answer, the run has an earlier answer of the host ("replayed"), and the shim asks the host
    // again before the next pass. But Pi uses a forced prompt for the whole run. So if the earlier answer was already
    // forced on the run, the shim keeps it.
    const isCurrent = this.run?.question === question && (this.run.kind !== "replayed" || forced !== undefined)
    const { answer } = isCurrent ? this.run! : await this.ask(asker, question, ctx)
    this.options = undefined // for the next pass, Pi has a copy of the options
    if (options?.forceSystemPrompt === undefined || answer === undefined) return
    options.forceSystemPrompt = answer
    this.forced = { theirs: question, ours: answer }
  }

  leaves({ passes }: Asker, session: string): void {
    passes.leavesWith(this.run?.kind ?? "bare", session)
  }

  /** Replaces the system prompt of a request. From 0.87 on, it is the first message. */
  request<M extends Message>({ messages }: ContextEvent<M>): { messages: M[] } | undefined {
    const [head, ...rest] = messages as Message[]
    const answer = this.run?.answer
    if (answer === undefined || head?.role !== "system") return undefined
    const { sections: _, ...others } = head as SystemMessage
    return { messages: [{ ...others, content: answer }, ...rest] as M[] }
  }

  end(): void {
    this.run = undefined
    this.options = undefined
    this.forced = undefined
  }

  private async ask({ directory, systems }: Asker, question: string, ctx: Context): Promise<Run> {
    const model = nameOf(ctx.model) ?? { provider: "", id: "" }
    const { system, kind, refusal } = await systems.ask({ session: ctx.sessionManager.getSessionId(), directory, model, system: [question] })
    const run = { question, answer: system?.join("\n\n"), kind }
    this.run = kind === "bare" ? undefined : run // without an answer, the next pass asks again
    if (refusal) throw refusal
    return run
  }
}

/** Pi 0.87 added the event context_with_system together with the method that is checked here. */
function canReplaceLater({ sessionManager }: Context): boolean {
  return typeof sessionManager.buildSessionProjection === "function"
}
