import { handlers } from "./extension.ts"
import type { Pi } from "./pi.ts"

/** If Pi does not know an event, it accepts the handler, and never calls it. */
interface Subscribing {
  on(event: string, handler: (event: never, ctx: never) => unknown): unknown
}

/**
 * Pi calls the extension for each session, and also for `pi --list-models`, which opens no session. So the extension
 * starts nothing before the event session_start.
 */
export default function magicctx(pi: Pi): void {
  if (process.env.MAGICCTX_SUBAGENT) return // a hidden agent of the host needs no host of its own
  for (const [event, handler] of Object.entries(handlers(pi))) (pi as unknown as Subscribing).on(event, handler)
}
