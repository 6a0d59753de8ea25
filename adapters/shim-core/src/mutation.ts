import type { CompiledPatch } from "./patch.ts"

/** Returns the key of a harness's message. The applier needs no other fact about the message. */
export type MessageKey = (message: unknown) => string | undefined

/** The patches of consecutive messages; undefined for a message without a patch. */
export type InPlace = ReadonlyArray<CompiledPatch | undefined>

/** A message before start that stays on the wire, by its place in the array, with its patch. */
export interface Kept {
  readonly at: number
  readonly patch: CompiledPatch | undefined
}

/** Finds the pinned messages among the first `start` ones. */
export function kept(
  messages: readonly unknown[],
  start: number,
  pinned: readonly string[],
  key: MessageKey,
  patchOf: (name: string, message: unknown) => CompiledPatch | undefined,
): readonly Kept[] {
  const found: Kept[] = []
  for (let at = 0; at < start && found.length < pinned.length; at++) {
    const name = key(messages[at])
    if (name !== undefined && pinned.includes(name)) found.push({ at, patch: patchOf(name, messages[at]) })
  }
  return found
}

/** The last good mutation: it says how an array became the wire. */
export interface Applied {
  head: readonly unknown[]
  patches: Map<string, CompiledPatch>
  /**
   * The number of messages that were cut off the front, and the key of the last one. A later array is cut after that
   * message.
   */
  start: number
  lastDropped: string | undefined
  /** The keys of the cut-off messages that stay on the wire, directly after the head. */
  pinned: readonly string[]
  /** The patches of the messages from start on, in order, so that no pass has to look them up again. */
  inPlace: InPlace
}
