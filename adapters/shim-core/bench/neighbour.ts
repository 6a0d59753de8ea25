/**
 * Tells when somebody else has the other half of the processor's core, as on a
 * shared machine: a known amount of arithmetic then takes up to two and a half
 * times as long, and so does everything that is measured meanwhile.
 */
export class Neighbour {
  private fastest = Infinity

  constructor() {
    for (let i = 0; i < 300; i++) this.sample() // until the engine has compiled it
  }

  /** Does the arithmetic; returns how long it took, in ms. */
  sample(): number {
    const t0 = performance.now()
    arithmetic()
    const took = performance.now() - t0
    this.fastest = Math.min(this.fastest, took)
    return took
  }

  /**
   * Waits until the neighbour is away, at most as long as patience lasts, in ms; returns what is left of it. Does not
   * sleep: an idle processor is slow at first.
   */
  wait(patience: number): number {
    const from = performance.now()
    while (!this.isAway(this.sample()) && performance.now() - from < patience);
    return Math.max(0, patience - (performance.now() - from))
  }

  /** Whether a sample was taken alone on the core: most times are either near the fastest or 1.5 times that and more. */
  isAway(sample: number): boolean {
    return sample < 1.3 * this.fastest
  }
}

/** Chains that do not wait for each other, so that they compete for the units of the core. */
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
