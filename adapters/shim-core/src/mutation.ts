import type { CompiledPatch } from "./patch.ts"

/** Returns the key of a harness's message, which is all that the applier must know about it. */
export type MessageKey = (message: unknown) => string | undefined

/** The patches of consecutive messages; undefined for a message without a patch. */
export type InPlace = ReadonlyArray<CompiledPatch | undefined>

/** The last good mutation: how an array became the wire. */
export interface Applied {
  head: readonly unknown[]
  patches: Map<string, CompiledPatch>
  /**
   * The number of messages that were cut off the front, and the key of the last one. A later array is cut behind that
   * message.
   */
  start: number
  lastDropped: string | undefined
  /** The patches of the messages from start on, in order, so that no pass has to look them up again. */
  inPlace: InPlace
}
