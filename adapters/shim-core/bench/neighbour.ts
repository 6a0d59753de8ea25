/**
 * Detects that another process uses the other hardware thread of the processor's core, as happens on a shared machine.
 * A fixed amount of arithmetic then takes up to two and a half times as long, and so does every measured operation.
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
   * Waits until the other process has stopped, for at most patience ms. Returns the rest of the patience. It does not
   * sleep, because an idle processor is slow at first.
   */
  wait(patience: number): number {
    const from = performance.now()
    while (!this.isAway(this.sample()) && performance.now() - from < patience);
    return Math.max(0, patience - (performance.now() - from))
  }

  /**
   * Whether a sample had the core for itself. Most samples take either about the fastest time, or at least 1.5 times
   * as long.
   */
  isAway(sample: number): boolean {
    return sample < 1.3 * this.fastest
  }
}

/** Several chains of operations that do not wait for each other, so that they compete for the units of the core. */
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
