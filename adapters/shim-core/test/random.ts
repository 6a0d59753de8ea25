const longTexts = ["x".repeat(2000), "x".repeat(1999) + "y", "x".repeat(1999) + "é", "\u4e2d".repeat(1500)]

/**
 * A small deterministic generator of random numbers (mulberry32). With the seed of a failure, a test can play the
 * failure again.
 */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed
  }

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  below(n: number): number {
    return Math.floor(this.next() * n)
  }

  chance(p: number): boolean {
    return this.next() < p
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  json(depth: number): unknown {
    if (depth === 0 || this.chance(0.5)) return this.pick([null, true, false, 0, 1, 2.5, "", "a", "§1§ é", "\ud800", ...longTexts])
    if (this.chance(0.5)) return Array.from({ length: this.below(3) }, () => this.json(depth - 1))
    return Object.fromEntries(Array.from({ length: this.below(4) }, () => [this.pick(["a", "b", "c", "__proto__"]), this.json(depth - 1)]))
  }
}
