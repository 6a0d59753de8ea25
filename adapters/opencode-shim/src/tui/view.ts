import type { Panel, SessionStatus } from "@magicctx/shim-core"

/**
 * What a terminal shows for a session: the host's panel, or a sentence (`note`). While the terminal reconnects, it
 * shows the old panel together with a sentence.
 */
export interface View {
  panel?: Panel
  note?: string
}

export const noRequest: View = { note: "magicctx: no request yet" }

export function viewOf({ panel }: SessionStatus): View {
  return panel ? { panel } : { note: "magicctx: an older host still runs" }
}
