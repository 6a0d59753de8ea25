/**
 * Copies and compares those members of a harness's message that the shim sends to the host. `npm run generate` writes a
 * Projector from its declaration (gen/declare.ts).
 *
 * Invariant: `same(snapshot(a), b)` is true if and only if `copy(a)` and `copy(b)` have the same JSON text.
 */
export interface Projector {
  /** Returns the copy that the shim sends. It shares no object with raw, and omits members that are undefined. */
  copy(raw: unknown): unknown
  /** Returns a snapshot of the members that the shim sends. `same` compares it with later versions of the message. */
  snapshot(raw: unknown): unknown
  /**
   * Returns whether the message still has the snapshot `was`. It does not make a new snapshot, so it copies nothing.
   */
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

// JSON.parse makes "__proto__" an ordinary member, so a copy must have it as an ordinary member, too. An assignment
// would set the prototype of the copy.
function define(target: Members, key: string, value: unknown) {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}
