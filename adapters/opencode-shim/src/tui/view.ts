import type { Panel, SessionStatus } from "@magicctx/shim-core"

/** A terminal shows the host's panel, a sentence, or both: while it reconnects, the old panel and a sentence. */
export interface View {
  panel?: Panel
  note?: string
}

export const noRequest: View = { note: "magicctx: no request yet" }

export function viewOf({ panel }: SessionStatus): View {
  return panel ? { panel } : { note: "magicctx: an older host still runs" }
}
