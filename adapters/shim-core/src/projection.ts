/**
 * Copies and compares the members of a harness's message that the host uses. `npm run generate` writes it from a
 * declaration (gen/declare.ts).
 *
 * Invariant: `same(snapshot(a), b)` holds exactly when `copy(a)` and `copy(b)` are the same JSON text.
 */
export interface Projector {
  /** The projected copy. The shim sends it. It shares no object with raw, and omits members that are undefined. */
  copy(raw: unknown): unknown
  /** A snapshot of the projected copy, for comparison with later messages. */
  snapshot(raw: unknown): unknown
  /** Whether snapshot(raw) would equal the snapshot `was`. It copies nothing. */
  same(was: unknown, raw: unknown): boolean
}

/** How a projection treats values that it keeps whole. */
export type Whole = (value: unknown) => unknown

export type Members = Record<string, unknown>

export function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
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

// An assignment to "__proto__" would set the prototype. JSON.parse makes it an ordinary member, and so does this
// function.
function define(target: Members, key: string, value: unknown) {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}
