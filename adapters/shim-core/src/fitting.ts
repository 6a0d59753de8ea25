import type { LastArray } from "./last.ts"
import { kept, type Applied, type InPlace, type Kept, type MessageKey } from "./mutation.ts"
import type { CompiledPatch } from "./patch.ts"

// This code runs only if a pass gets no answer from the host. It has its own file, because in applier.ts it made Bun
// compile the hot path differently, and a steady pass of bench:shim took 7 to 10 % longer.

/** The part of the last good mutation that still fits an array. */
interface Fitting extends Pick<Applied, "head" | "start"> {
  inPlace: InPlace
  kept: readonly Kept[]
  /** The number of messages whose patch is not used, because it may not fit their present content. */
  unfit: number
}

/**
 * Chooses the patches of the last good mutation that still fit. It compares the messages with `last`, the array for
 * which these patches were made. If no part of the mutation can be used, the result is undefined.
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
  // The head replaces the messages before the cut. If all of them are gone, the head must be removed, too.
  return { head: cut === undefined ? [] : state.head, start, inPlace, kept: pinned, unfit }
}

/**
 * Returns the index at which the array is cut: after the newest message that the head replaces. If the array contains
 * no such message any longer, the result is undefined.
 */
function cutOf({ start, lastDropped }: Applied, messages: readonly unknown[], last: LastArray, key: MessageKey): number | undefined {
  if (start === 0) return 0
  const at = messages.findIndex((message) => key(message) === lastDropped)
  if (at >= 0) return at + 1
  const dropped = last.first(start)
  for (let i = messages.length - 1; i >= 0; i--) if (dropped.has(key(messages[i]) ?? "")) return i + 1
  return undefined
}
