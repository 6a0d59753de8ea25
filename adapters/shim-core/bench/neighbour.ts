/**
 * Detects whether another process uses the second hardware thread of this core, which happens on a shared machine. If
 * so, a fixed amount of arithmetic takes up to 2.5 times as long, and so does every measured operation.
 */
export class Neighbour {
  private fastest = Infinity

  constructor() {
    for (let i = 0; i < 300; i++) this.sample() // until the engine has compiled it
  }

  /** Does the arithmetic once. Returns the time that it took, in ms. */
  sample(): number {
    const t0 = performance.now()
    arithmetic()
    const elapsed = performance.now() - t0
    this.fastest = Math.min(this.fastest, elapsed)
    return elapsed
  }

  /**
   * Waits until the other process has stopped, for at most `patience` ms. Returns the remaining patience. Instead of
   * sleeping, it computes, because a processor is slow after a sleep.
   */
  wait(patience: number): number {
    const from = performance.now()
    while (!this.isAway(this.sample()) && performance.now() - from < patience);
    return Math.max(0, patience - (performance.now() - from))
  }

  /**
   * True if no other process used the core during the sample. Such a sample takes about the fastest time. Most other
   * samples take at least 1.5 times as long.
   */
  isAway(sample: number): boolean {
    return sample < 1.3 * this.fastest
  }
}

/**
 * Four independent chains of operations keep all execution units of the core busy, so another process on this core
 * slows them down.
 */
function arithmetic(): number {
  let a = 1
  let b = 2
  let c = 3
  let d = 4
  for (let i = 0; i < 100_000; i++) {
    a = (Math.imul(a, 3) + i) | 0
    b = (Math.imul(b, 5) ^ i) | 0
    c = (c ^ (c << 1)) + i | 0
    d = ((d << 5) - d + i) | 0
  }
  return a + b + c + d
}
