/**
 * Copies and compares what the host uses of a harness's message. Written by
 * `npm run generate` from a declaration (gen/declare.ts).
 *
 * Invariant: `same(keep(a), b)` holds exactly when `copy(a)` and `copy(b)` are
 * the same as JSON text.
 */
export interface Projector {
  /** The projected copy, to be sent; it shares no object with raw, and undefined is absent. */
  copy(raw: unknown): unknown
  /** The projected copy as it is kept to be compared. */
  keep(raw: unknown): unknown
  /** Whether keeping raw would give kept again. Copies nothing. */
  same(kept: unknown, raw: unknown): boolean
}

/** What becomes of the values that a projection has whole. */
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

// JSON.parse makes "__proto__" an ordinary member; assigning it would not.
function define(target: Members, key: string, value: unknown) {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}
