import type { Panel, SessionStatus } from "@magicctx/shim-core"

/** A terminal shows the host's panel, or a sentence in its place. */
export interface View {
  panel?: Panel
  note?: string
}

export const noRequest: View = { note: "magicctx: no request yet" }

export function viewOf({ panel }: SessionStatus): View {
  return panel ? { panel } : { note: "magicctx: an older host still runs" }
}
