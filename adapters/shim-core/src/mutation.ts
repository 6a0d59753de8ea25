import type { CompiledPatch } from "./patch.ts"

/** Returns the key of a harness's message. The applier needs no other fact about the message. */
export type MessageKey = (message: unknown) => string | undefined

/** The patches of consecutive messages; undefined for a message without a patch. */
export type InPlace = ReadonlyArray<CompiledPatch | undefined>

/** A pinned message before `start`: its index in the array, and its patch. */
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

/**
 * The last good mutation, which turned an array into the wire. If the host cannot answer, the shim applies it again.
 */
export interface Applied {
  head: readonly unknown[]
  patches: Map<string, CompiledPatch>
  /**
   * The number of messages that the head replaces, and the key of the last one. In a later array, the head replaces all
   * messages up to the one with this key.
   */
  start: number
  lastDropped: string | undefined
  /** The keys of replaced messages that are still sent, directly after the head. */
  pinned: readonly string[]
  /** The patches of the messages from `start` on, in order, so that no pass has to look them up again. */
  inPlace: InPlace
}
