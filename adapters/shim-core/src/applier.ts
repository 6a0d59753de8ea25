import type { WireMutation } from "./generated/protocol.ts"
import { compile, patched, type CompiledPatch } from "./patch.ts"
import { clone } from "./projection.ts"

/** What the applier must know of a harness's message. */
export type MessageKey = (message: unknown) => string | undefined

/** How the last good array became the wire. */
interface State {
  head: readonly unknown[]
  patches: ReadonlyMap<string, CompiledPatch>
  /** The number of dropped messages, and the last of them, which is where a later array is cut. */
  start: number
  lastDropped: string | undefined
}

const nothing: State = { head: [], patches: new Map(), start: 0, lastDropped: undefined }

/**
 * Turns the arrays of one session into the wire. It keeps head and patches
 * between passes. A failure leaves the array and what is kept as they were.
 */
export class MutationApplier {
  private state = nothing
  private readonly key: MessageKey

  constructor(key: MessageKey) {
    this.key = key
  }

  /** Applies the answer to a pass over messages, in place. A resync answers with everything. */
  apply(messages: unknown[], mutation: WireMutation, resync: boolean): void {
    const next = this.merge(messages, mutation, resync ? nothing : this.state)
    replace(messages, this.render(messages, next))
    this.state = next
  }

  /**
   * Applies the last good mutation to messages, in place, for a pass that got
   * no answer. Returns whether it did: it does nothing if messages is no longer
   * cut where the last good array was.
   */
  reapply(messages: unknown[]): boolean {
    const { lastDropped } = this.state
    if (this.state === nothing) return false
    let start = 0
    if (lastDropped !== undefined) {
      start = messages.findIndex((message) => this.key(message) === lastDropped) + 1
      if (start === 0) return false
    }
    replace(messages, this.render(messages, { ...this.state, start }))
    return true
  }

  private merge(messages: readonly unknown[], mutation: WireMutation, from: State): State {
    const { start } = mutation
    if (!Number.isInteger(start) || start < 0 || start > messages.length) {
      throw new RangeError(`start ${start} of ${messages.length} messages`)
    }
    let head = mutation.headCleared ? nothing.head : from.head
    if (mutation.head?.length) head = mutation.head
    return {
      head,
      patches: mergePatches(from.patches, mutation),
      start,
      lastDropped: start === 0 ? undefined : this.key(messages[start - 1]),
    }
  }

  private render(messages: readonly unknown[], state: State): unknown[] {
    // Cloned, because other plugins may write into what they find in the array.
    const wire = state.head.map(clone)
    for (let i = state.start; i < messages.length; i++) {
      const message = messages[i]
      const patch = state.patches.size > 0 ? state.patches.get(this.key(message) ?? "") : undefined
      wire.push(patch ? patched(message, patch) : message)
    }
    return wire
  }
}

function mergePatches(from: State["patches"], { edits, cleared }: WireMutation): State["patches"] {
  const changed = Object.entries(edits ?? {})
  if (changed.length === 0 && !cleared?.length) return from
  const patches = new Map(from)
  for (const key of cleared ?? []) patches.delete(key)
  for (const [key, patch] of changed) patches.set(key, compile(patch))
  return patches
}

/** Gives target the elements of source. Not by splice(...source): a spread is an argument list, which has a limit. */
function replace(target: unknown[], source: readonly unknown[]): void {
  target.length = source.length
  for (let i = 0; i < source.length; i++) target[i] = source[i]
}
