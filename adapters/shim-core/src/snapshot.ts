/**
 * Returns a snapshot of a JSON value, with which later values are compared. For example, the snapshot of a long text is
 * a digest. Snapshots make these comparisons fast, because comparisons are most of the cost of a pass in the harness.
 */
export function snapshot(value: unknown): unknown {
  if (typeof value === "string") return isDigestible(value) ? digest!(value) : value
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? value.map(snapshot) : new ObjectSnapshot(value)
}

/**
 * True if the value is the same JSON as the value from which the snapshot `was` was made. Another order of members is a
 * difference, because the order on the wire would change, too.
 */
export function isSame(was: unknown, value: unknown): boolean {
  return was === value || isEqual(was, value) // short, so that an engine inlines it
}

function isEqual(was: unknown, value: unknown): boolean {
  if (typeof value === "string") return typeof was === "bigint" && digest!(value) === was
  if (typeof was !== "object" || typeof value !== "object" || was === null || value === null) return false
  return was instanceof ObjectSnapshot ? was.isSame(value) : areSame(was as unknown[], value)
}

function areSame(was: unknown[], values: object): boolean {
  if (!Array.isArray(values) || was.length !== values.length) return false
  for (let i = 0; i < was.length; i++) if (!isSame(was[i], values[i])) return false
  return true
}

/**
 * The snapshot of an object is a list of its names and a list of its values. A snapshot that is itself an object would
 * be slow to compare, because each comparison would look up members by name: in about half of all processes (Bun 1.3),
 * the comparison of a session took twice as long.
 */
export class ObjectSnapshot {
  private readonly names: string[] = []
  private readonly values: unknown[] = []

  constructor(object: object) {
    for (const name in object) {
      const value = (object as Record<string, unknown>)[name]
      if (value === undefined) continue
      this.names.push(name)
      this.values.push(snapshot(value))
    }
  }

  isSame(object: object): boolean {
    if (Array.isArray(object)) return false
    let at = 0
    for (const name in object) {
      const value = (object as Record<string, unknown>)[name]
      if (value === undefined) continue
      if (this.names[at] !== name || !isSame(this.values[at], value)) return false
      at++
    }
    return at === this.names.length
  }
}

/**
 * The hash function XXH3 with 64 bits, or undefined outside Bun, because only Bun has a hash that is faster than a
 * comparison. A comparison of two strings reads both of them from memory. A digest reads only the new string, and the
 * process does not have to keep a second copy of every tool output. No JSON value is a bigint, so a digest is never
 * mistaken for a value.
 */
const digest = (globalThis as { Bun?: { hash: { xxHash3(text: string): bigint } } }).Bun?.hash.xxHash3

/**
 * Texts of at least this many characters are replaced by digests. Bun 1.3 digests a string of this length in 190 ns,
 * and compares it in 340 ns. Below 512 characters, comparing is faster.
 */
const long = 1024

/** Only ASCII is digested. Other text would first be converted to UTF-8, which takes longer than a comparison. */
function isDigestible(text: string): boolean {
  return digest !== undefined && text.length >= long && Buffer.byteLength(text) === text.length
}
