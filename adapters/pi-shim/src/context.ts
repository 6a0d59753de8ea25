import type { Instance } from "./instance.ts"
import { nameOf } from "./limits.ts"
import type { Context, ContextEvent, Message } from "./pi.ts"
import { flatten, join } from "./steps.ts"

/**
 * Returns the wire as a new array, or undefined if the prompt is sent as Pi made it. In Pi 0.87 and newer, the system
 * messages change their places if a handler returns a new array. If only some passes returned one, the prefix would
 * differ between passes. So this handler returns a new array in each pass of the host.
 */
export async function context<M extends Message>(instance: Instance, { messages }: ContextEvent<M>, ctx: Context): Promise<{ messages: M[] } | undefined> {
  const { directory, passes } = instance
  const session = ctx.sessionManager.getSessionId()
  if (instance.unsent.has(session)) passes.withoutPass(session)
  instance.unsent.add(session)
  const enabled = await instance.ready()
  const steps = join(messages)
  instance.lines.read(session, steps, (id, line) => passes.typed(session, id, line))
  const answer = () => ({ messages: flatten(steps) as M[] })
  if (!enabled) {
    if (instance.isInTrouble) await instance.guard("system prompt", () => instance.prompt.prepare(instance, ctx))
    if (instance.isInTrouble && (await passes.withoutHost(steps, session)) === "reapplied") return answer()
    passes.withoutPass(session)
    return undefined
  }
  await instance.guard("system prompt", () => instance.prompt.prepare(instance, ctx))
  const model = nameOf(ctx.model)
  const original = idOf(ctx.sessionManager.getHeader()?.parentSession)
  const outcome = await passes.run(steps, { session, directory, ...(original && { original }), ...(model && { model }) }, enabled)
  instance.prompt.leaves(instance, session)
  instance.followStatus()
  return outcome === "unchanged" ? undefined : answer()
}

/** A session's file has the name TIME_ID.jsonl, for example `2026-11-26T10-00-00-000Z_my_session.jsonl`. */
const idOf = (file?: string) => file && /[^_/\\]*_([^/\\]+)\.jsonl$/.exec(file)?.[1]
