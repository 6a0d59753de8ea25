import type { LastArray } from "./last.ts"
import { kept, type Applied, type InPlace, type Kept, type MessageKey } from "./mutation.ts"
import type { CompiledPatch } from "./patch.ts"

// This code runs only in a pass without an answer from the host. It is not in applier.ts: with this code in that
// file, Bun compiled the file's hot path differently, and a steady pass of bench:shim took 7 to 10 % longer.

/** The part of the last good mutation that still fits an array. */
interface Fitting extends Pick<Applied, "head" | "start"> {
  inPlace: InPlace
  kept: readonly Kept[]
  /**
   * The number of messages with a patch that stay raw, because the patch may not be meant for their present content.
   */
  unfit: number
}

/**
 * Chooses, message by message, the patches that still fit messages. To find them, it compares messages with last, the
 * array that the patches were made for. The result is undefined if no part of the mutation can be used.
 */
export function fitting(state: Applied, messages: readonly unknown[], last: LastArray, key: MessageKey): Fitting | undefined {
  const cut = cutOf(state, messages, last, key)
  const start = cut ?? 0
  let unfit = 0
  let fits = cut !== undefined
  const patchOf = (name: string | undefined, message: unknown): CompiledPatch | undefined => {
    const patch = name === undefined ? undefined : state.patches.get(name)
    const fitted = patch && last.fitted(patch, name!, message)
    if (patch && !fitted) unfit++
    if (fitted) fits = true
    return fitted
  }
  const inPlace = messages.slice(start).map((message) => patchOf(key(message), message))
  const pinned = kept(messages, start, state.pinned, key, patchOf)
  if (!fits) return undefined
  // The head stands for the messages that are cut off at the front. If all of those are gone, the head must be
  // removed, too.
  return { head: cut === undefined ? [] : state.head, start, inPlace, kept: pinned, unfit }
}

/**
 * Finds the place at which to cut the array: after the newest cut-off message that is still there; undefined if all of
 * them are gone.
 */
function cutOf({ start, lastDropped }: Applied, messages: readonly unknown[], last: LastArray, key: MessageKey): number | undefined {
  if (start === 0) return 0
  const at = messages.findIndex((message) => key(message) === lastDropped)
  if (at >= 0) return at + 1
  const dropped = last.first(start)
  for (let i = messages.length - 1; i >= 0; i--) if (dropped.has(key(messages[i]) ?? "")) return i + 1
  return undefined
}
