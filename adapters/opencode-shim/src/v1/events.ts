import { Method } from "@magicctx/shim-core"
import type { Instance } from "./instance.ts"
import type { Event } from "./opencode.ts"
import { children } from "./sessions.ts"

/** The events for the host. OpenCode sends far more events, for example one for every token of an answer. */
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
  // If the provider refuses OpenCode's own compaction, the host must not think that the session's prompt was refused.
  if (event.type === "session.error" && session && instance.sessions.aside.has(session)) return
  // After each step, OpenCode updates the user message with all diffs of the turn. The host needs no such event.
  if (event.type === "message.updated" && info?.role === "user") return
  // The host binds the thinking of an answer to the wire that `sent` names. It does so at the end of the answer,
  // because OpenCode may be restarted before the next pass.
  const sent = session && info?.time?.completed !== undefined ? instance.passes.sent(session) : undefined
  instance.host.notify(Method.Event, { ...(session && { session }), directory: instance.directory, event, ...(sent && { sent }) })
}
