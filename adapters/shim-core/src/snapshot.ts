/**
 * Returns a compact copy of a JSON value. The shim keeps it to check later, with isSame, whether the value has changed.
 * In a snapshot, a digest replaces each long text. This makes the check faster, and the check takes most of the time of
 * a pass in the harness.
 */
export function snapshot(value: unknown): unknown {
  if (typeof value === "string") return isDigestible(value) ? digest!(value) : value
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? value.map(snapshot) : new ObjectSnapshot(value)
}

/**
 * True if the value has not changed since the snapshot `was` was made from it. If only the order of an object's members
 * has changed, the result is false, because their order on the wire would change, too.
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
 * The snapshot of an object: one list with the names of its members, and one with their values. It is not an object
 * with the same members, because isSame would then have to look up each member by name. In about half of all processes
 * (Bun 1.3), that made checking a session take twice as long.
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
 * The 64-bit hash function XXH3. Outside Bun it is undefined, because no other runtime has a hash that is faster than
 * comparing the texts. To compare two texts, the process must keep the old text and read both from memory. With a
 * digest, it reads only the new text, and does not keep a second copy of every tool output. A digest is a bigint, and
 * JSON has no bigints, so a digest is never mistaken for a value.
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
