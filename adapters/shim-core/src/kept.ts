/**
 * The form in which a JSON value is kept only to be compared with later ones,
 * made for the speed of that: comparing is most of what a pass costs a harness.
 */
export function keep(value: unknown): unknown {
  if (typeof value === "string") return isDigestible(value) ? digest!(value) : value
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? value.map(keep) : new KeptObject(value)
}

/** Whether a kept value and a new one are the same JSON, with members in the same order: what is sent on keeps it. */
export function isSame(kept: unknown, value: unknown): boolean {
  if (kept === value) return true
  if (typeof value === "string") return typeof kept === "bigint" && digest!(value) === kept
  if (typeof kept !== "object" || typeof value !== "object" || kept === null || value === null) return false
  return kept instanceof KeptObject ? kept.isSame(value) : areSame(kept as unknown[], value)
}

function areSame(kept: unknown[], values: object): boolean {
  if (!Array.isArray(values) || kept.length !== values.length) return false
  for (let i = 0; i < kept.length; i++) if (!isSame(kept[i], values[i])) return false
  return true
}

/**
 * An object of any members. An engine is quick to read the members of an object
 * that it enumerates, and often slow to look names up in another one: in every other
 * process the comparison of a session took twice the time (Bun 1.3).
 */
class KeptObject {
  private readonly names: string[] = []
  private readonly values: unknown[] = []

  constructor(object: object) {
    for (const name in object) {
      const value = (object as Record<string, unknown>)[name]
      if (value === undefined) continue
      this.names.push(name)
      this.values.push(keep(value))
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
 * XXH3 with 64 bits. Two strings that are compared are both read from memory,
 * one that is digested is read alone, and the harness's process need not hold
 * every tool output twice. Only Bun has a hash faster than comparing; no JSON
 * value is a bigint, so a digest is not mistaken for one.
 */
const digest = (globalThis as { Bun?: { hash: { xxHash3(text: string): bigint } } }).Bun?.hash.xxHash3

/** In characters. Bun 1.3 digests so many in 190 ns and compares them in 340; below 512 it is quicker to compare. */
const long = 1024

/** What is not ASCII would be converted to UTF-8 first, which takes longer than to compare it. */
function isDigestible(text: string): boolean {
  return digest !== undefined && text.length >= long && Buffer.byteLength(text) === text.length
}
