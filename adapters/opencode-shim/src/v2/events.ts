import { asError, Method } from "@magicctx/shim-core"
import { hiddenRuns, noteHidden } from "./agents.ts"
import type { Instance } from "./instance.ts"
import type { Event } from "./opencode2.ts"

const again = { firstMS: 500, mostMS: 30_000 } as const

/**
 * Reads OpenCode's events until `signal` aborts. If the shim reads too slowly, OpenCode ends the stream, and some
 * events are lost. Then `follow` forgets the facts that it has learned from events, and subscribes again. At its next
 * request, each session reads these facts from OpenCode's stored messages.
 */
export async function follow(instance: Instance, signal: AbortSignal): Promise<void> {
  for (let ms: number = again.firstMS; !signal.aborted; ms = Math.min(2 * ms, again.mostMS)) {
    try {
      for await (const event of instance.ctx.event?.subscribe({ signal }) ?? []) {
        if (signal.aborted) return
        ms = again.firstMS
        await instance.guard("event", () => note(instance, event))
      }
    } catch (err) {
      if (!signal.aborted) instance.log.warn("the events have ended", { cause: asError(err).message })
    }
    if (signal.aborted || !instance.ctx.event) return
    instance.facts.forgetAll()
    await new Promise((resolve) => setTimeout(resolve, ms).unref())
  }
}

/** Each instance gets the events of all directories. */
function note(instance: Instance, event: Event): void {
  const { type, data } = event
  const session = data?.sessionID
  if (session === undefined) return
  const run = hiddenRuns.get(session)
  if (run) return noteHidden(run, event)
  const { directory, facts, passes } = instance
  if (event.location && event.location.directory !== directory) return
  switch (type) {
    case "session.step.started":
      instance.unsent.delete(session)
      facts.note(type, data, event.created ?? Date.now())
      return
    case "session.step.ended":
    case "session.step.failed": {
      const at = event.created ?? Date.now()
      facts.note(type, data, at)
      const { assistantMessageID: id, finish, tokens, error, model } = data
      const info = { type: "assistant", completed: at, ...(model && { providerID: model.providerID, modelID: model.id }), finish, tokens, ...(error && { error: { type: error.type } }) }
      // The host has to know which wire led to the answer, because it binds the answer's thinking to this wire. Even a
      // failed answer can contain thinking.
      return tell(instance, session, { type, id, info, ...(error && { error }) }, passes.sent(session))
    }
    case "session.created":
    case "session.renamed":
      return tell(instance, session, { type, title: data.title })
    case "session.compaction.ended":
      facts.forget(session)
      return tell(instance, session, { type })
    case "session.revert.staged":
    case "session.revert.cleared":
    case "session.revert.committed":
    case "session.moved":
      return facts.forget(session)
    case "session.deleted":
      instance.forget(session)
      return tell(instance, session, { type })
  }
}

function tell(instance: Instance, session: string, event: Record<string, unknown>, sent?: string): void {
  if (!instance.wants(Method.Event)) return
  instance.host.notify(Method.Event, { session, directory: instance.directory, event: { ...event, session }, ...(sent && { sent }) })
}
