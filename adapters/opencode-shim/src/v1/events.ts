import { Method } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Event } from "./opencode.ts"
import { children } from "./sessions.ts"

/** Other events are too many to forward: for example, there is one for every token of an answer. */
const forwarded = new Set([
  "session.created",
  "session.updated",
  "session.deleted",
  "session.error",
  "session.compacted",
  "session.status",
  "session.idle",
  "message.updated",
  "message.removed",
])

export function event(instance: Instance, { event }: { event: Event }): void {
  if (!forwarded.has(event.type)) return
  instance.sessions.observe(event)
  const { info, sessionID } = event.properties
  const session = sessionID ?? (event.type.startsWith("session.") ? info?.id : info?.sessionID)
  if (session && children.has(session)) {
    if (event.type === "session.error") children.set(session, event.properties.error)
    return
  }
  if (event.type === "session.deleted" && session) {
    instance.passes.forget(session)
    instance.systems.forget(session)
  }
  if (!instance.wants(Method.Event)) return
  // A refusal of OpenCode's own compaction says nothing about the session's prompt.
  if (event.type === "session.error" && session && instance.sessions.aside.has(session)) return
  // OpenCode writes a user message again after each step, with all diffs of the turn in it.
  if (event.type === "message.updated" && info?.role === "user") return
  // OpenCode may be restarted before the next pass, so the host binds the thinking of an answer at its end.
  const sent = session && info?.time?.completed !== undefined ? instance.passes.sent(session) : undefined
  instance.host.notify(Method.Event, { ...(session && { session }), directory: instance.directory, event, ...(sent && { sent }) })
}
