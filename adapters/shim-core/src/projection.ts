/**
 * Compares and copies what the host uses of a harness's message. Written by
 * `npm run generate` from a declaration (gen/declare.ts).
 *
 * Invariant: `same(copy(a), b)` holds exactly when `copy(a)` and `copy(b)` are
 * equal JSON.
 */
export interface Projector {
  /** Whether copying raw would give kept again. Allocates nothing. */
  same(kept: unknown, raw: unknown): boolean
  /** The projected copy, which shares no object with raw; undefined is absent. */
  copy(raw: unknown): unknown
}

export type Members = Record<string, unknown>

export function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Deep equality of JSON values; a member that is undefined counts as absent. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!equal(a[i], b[i])) return false
    return true
  }
  if (Array.isArray(b)) return false
  let balance = 0
  for (const key in a) {
    const value = (a as Members)[key]
    if (value === undefined) continue
    if (!equal(value, (b as Members)[key])) return false
    balance++
  }
  for (const key in b) if ((b as Members)[key] !== undefined) balance--
  return balance === 0
}

/** A deep copy of a JSON value. */
export function clone<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(clone) as T
  const copy: Members = {}
  for (const key in value) {
    const member = (value as Members)[key]
    if (member === undefined) continue
    if (key === "__proto__") define(copy, key, clone(member))
    else copy[key] = clone(member)
  }
  return copy as T
}

// JSON.parse makes "__proto__" an ordinary member; assigning it would not.
function define(target: Members, key: string, value: unknown) {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}
