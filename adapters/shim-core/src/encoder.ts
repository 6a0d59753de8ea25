import type { Projector } from "./projection.ts"

/** What a transform request says of an array: the first keep messages of revision base stand, tail follows. */
export interface Delta {
  base: number
  keep: number
  /** The projected messages after the kept ones, as JSON. */
  attachment: string
  /** Hands the delta back to the encoder once the host has answered it. */
  readonly projected: readonly unknown[]
}

/**
 * Encodes the message arrays of one session as deltas. It remembers the
 * projection of the last array that the host confirmed; revision 0 is no array.
 */
export class DeltaEncoder {
  private kept: readonly unknown[] = []
  private revision = 0
  private readonly message: Projector

  constructor(message: Projector) {
    this.message = message
  }

  /** The difference between messages and the confirmed array; all of it if there is none. */
  encode(messages: readonly unknown[]): Delta {
    const keep = this.revision === 0 ? 0 : this.firstDifference(messages)
    const projected = this.kept.slice(0, keep)
    for (let i = keep; i < messages.length; i++) projected.push(this.message.copy(messages[i]))
    const tail = keep === 0 ? projected : projected.slice(keep)
    return { base: this.revision, keep, attachment: JSON.stringify(tail), projected }
  }

  /** The host holds the array of delta as revision. */
  confirm(delta: Delta, revision: number): void {
    this.kept = delta.projected
    this.revision = revision
  }

  /** The next delta carries everything. */
  reset(): void {
    this.kept = []
    this.revision = 0
  }

  private firstDifference(messages: readonly unknown[]): number {
    const limit = Math.min(this.kept.length, messages.length)
    for (let i = 0; i < limit; i++) if (!this.message.same(this.kept[i], messages[i])) return i
    return limit
  }
}
