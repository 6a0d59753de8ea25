import type { Projector } from "./projection.ts"

/** What a transform request says of an array: the first keep messages of revision base stand, tail follows. */
export interface Delta {
  base: number
  keep: number
  /** The projected messages after the kept ones, as JSON. */
  attachment: string
  /** The same messages as values: when the host confirms them, the harness's are the wire already. */
  readonly tail: readonly unknown[]
  /** The array of revision base. */
  readonly kept: readonly unknown[]
  /** Whether the kept messages have yet to be compared. */
  readonly isGuess: boolean
}

/**
 * Encodes the message arrays of one session as deltas. It remembers the
 * projection of the last array that the host confirmed; revision 0 is no array.
 */
export class DeltaEncoder {
  private kept: readonly unknown[] = []
  private revision = 0
  /** Whether the last array could have been guessed. */
  private grows = true
  private readonly message: Projector

  constructor(message: Projector) {
    this.message = message
  }

  /** The difference between messages and the confirmed array; all of it if there is none. */
  encode(messages: readonly unknown[]): Delta {
    const keep = this.firstDifference(messages)
    this.grows = keep === this.endOfCommon(messages)
    return this.delta(messages, keep, false)
  }

  /**
   * The difference as it is if messages has changed only at its end, as that of
   * a session which goes on. It is there before a long array is compared; isRight
   * must follow. An array that changed elsewhere is encoded whole the next time:
   * what changed it, such as another plugin, may do so in each pass.
   */
  guess(messages: readonly unknown[]): Delta {
    return this.grows ? this.delta(messages, this.endOfCommon(messages), true) : this.encode(messages)
  }

  /** Whether a delta of messages is their difference from the confirmed array. */
  isRight({ isGuess, keep }: Delta, messages: readonly unknown[]): boolean {
    return !isGuess || this.firstDifference(messages, keep) === keep
  }

  /** The host holds the array of delta as revision. */
  confirm(delta: Delta, revision: number): void {
    this.kept = delta.kept.slice(0, delta.keep).concat(delta.tail.map((message) => this.message.keep(message)))
    this.revision = revision
  }

  /** The next delta carries everything. */
  reset(): void {
    this.kept = []
    this.revision = 0
  }

  private delta(messages: readonly unknown[], keep: number, isGuess: boolean): Delta {
    const tail = messages.slice(keep).map((message) => this.message.copy(message))
    return { base: this.revision, keep, attachment: JSON.stringify(tail), tail, kept: this.kept, isGuess }
  }

  private firstDifference(messages: readonly unknown[], limit = Math.min(this.kept.length, messages.length)): number {
    for (let i = 0; i < limit; i++) if (!this.message.same(this.kept[i], messages[i])) return i
    return limit
  }

  /** The number of messages up to the last that is the same in its place. */
  private endOfCommon(messages: readonly unknown[]): number {
    let end = Math.min(this.kept.length, messages.length)
    while (end > 0 && !this.message.same(this.kept[end - 1], messages[end - 1])) end--
    return end
  }
}
