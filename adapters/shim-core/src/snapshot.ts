/**
 * Returns a snapshot of a JSON value: a form that later values are compared with, for example a digest of a long text.
 * The form is chosen for speed, because comparing is most of the cost of a pass in the harness.
 */
export function snapshot(value: unknown): unknown {
  if (typeof value === "string") return isDigestible(value) ? digest!(value) : value
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? value.map(snapshot) : new ObjectSnapshot(value)
}

/**
 * Whether a value is the same JSON as an earlier value, of which `was` is the snapshot. The order of members counts,
 * because the wire has the same order.
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
 * An object with arbitrary members. An engine reads the members of an object quickly while it enumerates them, but is
 * often slow to look the names up in another object. With such lookups, the comparison of a session took twice as
 * long in about half of all processes (Bun 1.3).
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
 * XXH3 with 64 bits. Comparing two strings reads both from memory; digesting reads only the new one, and the
 * harness's process need not hold every tool output twice. Only Bun has a hash that is faster than comparing. No JSON
 * value is a bigint, so a digest is never mistaken for a value.
 */
const digest = (globalThis as { Bun?: { hash: { xxHash3(text: string): bigint } } }).Bun?.hash.xxHash3

/**
 * The length from which a text is replaced by its digest, in characters. Bun 1.3 digests a string of this length in 190
 * ns and compares it in 340 ns. Below 512 characters, comparing is faster.
 */
const long = 1024

/** Only ASCII is digested: other text would first be converted to UTF-8, which takes longer than comparing it. */
function isDigestible(text: string): boolean {
  return digest !== undefined && text.length >= long && Buffer.byteLength(text) === text.length
}
