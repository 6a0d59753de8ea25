import { LastArray } from "./last.ts"
import type { MessageKey } from "./mutation.ts"
import type { Projector } from "./projection.ts"

/** A transform request sends an array as the first `keep` messages of revision `base`, followed by `tail`. */
export interface Delta {
  base: number
  keep: number
  /** The projected messages after the first `keep` ones, as JSON. */
  attachment: string
  /**
   * The messages of the attachment as values. The snapshots are made from these values, and not from the harness's own
   * array: by the time the host confirms the delta, that array has already become the wire.
   */
  readonly tail: readonly unknown[]
  /** Snapshots of the array of revision `base`. */
  readonly confirmed: readonly unknown[]
  /** True if the first `keep` messages have not been compared yet. */
  readonly isGuess: boolean
  /** Snapshots of the tail, once they are made. */
  snapshots?: readonly unknown[]
}

/**
 * Encodes the message arrays of one session as deltas. It stores snapshots of the last array that the host confirmed.
 * Revision 0 means that no array is confirmed.
 */
export class DeltaEncoder {
  /** Snapshots of the last confirmed array; empty if the host no longer has this array. */
  #confirmed: readonly unknown[] = []
  #revision = 0
  /** The last confirmed array, as snapshots or as digests. It is set only while the host no longer has this array. */
  #former: readonly unknown[] | LastArray | undefined
  /** True if the last array had changed only at its end, so that a guess would have been right. */
  #grows = true
  readonly #message: Projector

  constructor(message: Projector) {
    this.#message = message
  }

  /** Encodes the difference between messages and the confirmed array, or all messages if no array is confirmed. */
  encode(messages: readonly unknown[]): Delta {
    const keep = this.#firstDifference(messages)
    this.#grows = keep === this.#endOfCommon(messages)
    return this.#delta(messages, keep, false)
  }

  /**
   * Encodes the difference on the assumption that the array has changed only at its end, which is true for almost every
   * step. So the caller can send the delta before the whole array is compared. Afterwards, the caller must check the
   * delta with isRight. If the previous array had changed elsewhere, too, this method does not guess but compares the
   * whole array: another plugin may be changing the array in every pass.
   */
  guess(messages: readonly unknown[]): Delta {
    return this.#grows ? this.#delta(messages, this.#endOfCommon(messages), true) : this.encode(messages)
  }

  /** True if a guessed delta is the real difference between messages and the confirmed array. */
  isRight({ isGuess, keep }: Delta, messages: readonly unknown[]): boolean {
    return !isGuess || this.#firstDifference(messages, keep) === keep
  }

  /**
   * Makes the snapshots that `confirm` needs. The caller does this while it waits for the host, because the snapshots
   * of a whole array take long.
   */
  prepare(delta: Delta): void {
    delta.snapshots ??= delta.tail.map((message) => this.#message.snapshot(message))
  }

  /** Records that the host has the array of `delta` under this revision. */
  confirm(delta: Delta, revision: number): void {
    this.prepare(delta)
    this.#confirmed = delta.confirmed.slice(0, delta.keep).concat(delta.snapshots!)
    this.#revision = revision
    this.#former = undefined
  }

  /** Makes the next delta contain the whole array. */
  reset(): void {
    this.#former ??= this.#confirmed
    this.#confirmed = []
    this.#revision = 0
  }

  /**
   * Like reset, but also replaces the snapshots with digests, which are small. A digest still shows whether a message
   * has changed.
   */
  forget(key: MessageKey): void {
    this.#former = this.last(key).condensed()
    this.reset()
  }

  /** The last confirmed array, whether or not the host still has it. */
  last(key: MessageKey): LastArray {
    const array = this.#former ?? this.#confirmed
    return array instanceof LastArray ? array : LastArray.of(array, key, this.#message)
  }

  #delta(messages: readonly unknown[], keep: number, isGuess: boolean): Delta {
    const tail = messages.slice(keep).map((message) => this.#message.copy(message))
    return { base: this.#revision, keep, attachment: JSON.stringify(tail), tail, confirmed: this.#confirmed, isGuess }
  }

  #firstDifference(messages: readonly unknown[], limit = Math.min(this.#confirmed.length, messages.length)): number {
    for (let i = 0; i < limit; i++) if (!this.#message.same(this.#confirmed[i], messages[i])) return i
    return limit
  }

  /** The index after the last message that is the same in both arrays at the same place. */
  #endOfCommon(messages: readonly unknown[]): number {
    let end = Math.min(this.#confirmed.length, messages.length)
    while (end > 0 && !this.#message.same(this.#confirmed[end - 1], messages[end - 1])) end--
    return end
  }
}
