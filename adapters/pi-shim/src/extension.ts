import { within } from "@magicctx/shim-core"
import { withBreakpoint } from "./breakpoint.ts"
import { registerCommands } from "./commands.ts"
import { beforeCompact, compactFailed } from "./compaction.ts"
import { context } from "./context.ts"
import { forward, messageEnd } from "./events.ts"
import { instanceOf, leaveHome } from "./home.ts"
import type { Instance } from "./instance.ts"
import { nameOf } from "./limits.ts"
import type {
  BeforeAgentStart,
  BeforeCompact, CompactFailed,
  BeforeProviderRequest,
  CacheWarmingDecision,
  Context,
  ContextEvent,
  Input,
  Message,
  Model,
  Pi,
  SessionShutdown,
  SessionStart,
} from "./pi.ts"
import { registerTools } from "./tools.ts"

const startMS = 2_000
const lastMS = 500
/** Pi keeps the prefix of an idle session in the provider's cache for this time. */
const warmSeconds = 30 * 60

/** Pi calls the extension for each session. Before session_start has run, only session_shutdown does something. */
export function handlers(pi: Pi) {
  let instance: Instance | undefined
  let hasRegistered = false

  const running = new Set<Promise<unknown>>()

  const guarded = async <T>(hook: string, body: (instance: Instance) => Promise<T> | T): Promise<T | undefined> => {
    const found = instance
    if (!found) return undefined
    const run = found.guard(hook, () => body(found))
    running.add(run)
    return run.finally(() => running.delete(run))
  }

  const tell = (type: string, ctx: Context, more: Record<string, unknown> = {}) => {
    void guarded(type, (instance) => forward(instance, ctx.sessionManager.getSessionId(), { type, ...more }))
  }

  return {
    /** Pi waits for this handler before the first prompt. It may call the handler twice for one session. */
    async session_start({ reason }: SessionStart, ctx: Context): Promise<void> {
      const found = (instance = instanceOf(ctx.cwd))
      await found.guard("session_start", async () => {
        const session = ctx.sessionManager.getSessionId()
        const isAgain = found.open?.pi === pi && found.open.session === session
        found.attach({ pi, ctx, session })
        const registered = await found.start(startMS)
        if (registered && !hasRegistered) {
          hasRegistered = true
          registerTools(pi, found, registered.tools)
          registerCommands(pi, found, registered.commands)
        }
        if (isAgain) return
        found.followStatus()
        found.showStatus()
        forward(found, session, { type: "session_start", reason, model: nameOf(ctx.model) })
      })
    },

    async session_shutdown({ reason }: SessionShutdown, ctx: Context): Promise<void> {
      await within(lastMS, Promise.all(running)) // Pi 0.74 quits while handlers run
      await guarded("session_shutdown", (instance) => instance.detach(ctx.sessionManager.getSessionId()))
      instance = undefined
      if (reason === "quit") await leaveHome()
    },

    async input({ text, source }: Input, ctx: Context): Promise<undefined> {
      await guarded("input", ({ lines }) => lines.note(ctx.sessionManager.getSessionId(), text, source))
      return undefined
    },

    before_agent_start(event: BeforeAgentStart, ctx: Context): Promise<{ systemPrompt: string } | undefined> {
      return guarded("before_agent_start", (instance) => instance.prompt.begin(instance, event, ctx))
    },

    context<M extends Message>(event: ContextEvent<M>, ctx: Context): Promise<{ messages: M[] } | undefined> {
      return guarded("context", (instance) => context(instance, event, ctx))
    },

    context_with_system<M extends Message>(event: ContextEvent<M>, _: Context): Promise<{ messages: M[] } | undefined> {
      return guarded("context_with_system", (instance) => instance.prompt.request(event))
    },

    /** The payload is the JSON that the provider gets. */
    before_provider_request({ payload }: BeforeProviderRequest, ctx: Context): Promise<unknown> {
      return guarded("before_provider_request", ({ passes }) => withBreakpoint(payload, passes.head(ctx.sessionManager.getSessionId())))
    },

    after_provider_response(_: unknown, ctx: Context): void {
      void guarded("after_provider_response", (instance) => instance.unsent.delete(ctx.sessionManager.getSessionId()))
    },

    message_end<M extends Message>({ message }: { message: M }, ctx: Context): Promise<{ message: M } | undefined> {
      return guarded("message_end", (instance) => messageEnd(instance, message, ctx))
    },

    session_before_compact(event: BeforeCompact, ctx: Context) {
      return guarded("session_before_compact", (instance) => beforeCompact(instance, event, ctx))
    },

    session_compact_failed(event: CompactFailed, ctx: Context) {
      return guarded("session_compact_failed", (instance) => compactFailed(instance, event, ctx))
    },

    session_compact({ fromExtension }: { fromExtension: boolean }, ctx: Context): void {
      tell("session_compact", ctx, { fromExtension })
    },

    session_tree({ newLeafId, oldLeafId }: { newLeafId: string | null; oldLeafId: string | null }, ctx: Context): void {
      tell("session_tree", ctx, { newLeafId, oldLeafId })
    },

    session_info_changed({ name }: { name: string | undefined }, ctx: Context): void {
      tell("session_info_changed", ctx, { name })
    },

    model_select({ model }: { model: Model }, ctx: Context): void {
      tell("model_select", ctx, { model: nameOf(model) })
    },

    /** After this event, Pi may still retry. */
    agent_end(_: unknown, ctx: Context): void {
      tell("agent_end", ctx)
    },

    agent_settled(_: unknown, ctx: Context): void {
      tell("agent_settled", ctx)
      instance?.prompt.end()
    },

    /**
     * Pi keeps the prefix of an idle session in the provider's cache. Tells the host, so that it does not take the
     * prefix for lost after a pause.
     */
    cache_warming_decision({ action }: CacheWarmingDecision, ctx: Context): void {
      void guarded("cache_warming_decision", (instance) => {
        if (action === "warm" && ctx.isIdle()) instance.keepsWarm(warmSeconds)
      })
    },
  }
}
