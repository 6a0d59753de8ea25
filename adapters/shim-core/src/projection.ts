/**
 * Copies and compares the members of a harness's message that the shim sends to the host. `npm run generate` writes a
 * Projector from its declaration (gen/declare.ts).
 *
 * Invariant: `same(snapshot(a), b)` is true exactly if `copy(a)` and `copy(b)` are the same JSON text.
 */
export interface Projector {
  /** Returns the copy that the shim sends. It shares no object with raw, and omits members that are undefined. */
  copy(raw: unknown): unknown
  /** A snapshot of the projected copy, for comparison with later messages. */
  snapshot(raw: unknown): unknown
  /** True if snapshot(raw) would equal the snapshot `was`. It copies nothing. */
  same(was: unknown, raw: unknown): boolean
}

/** Copies a value that is sent whole. */
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

// Defines the member "__proto__". An assignment would set the prototype, but JSON.parse makes an ordinary member.
function define(target: Members, key: string, value: unknown) {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}
