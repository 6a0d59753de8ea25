/**
 * A projection names the members of a harness's message that the host uses. It
 * is declared once and used twice, to compare and to copy, so that what is
 * compared is what was sent.
 *
 * Invariant: `same(copy(a), b)` holds exactly when `copy(a)` and `copy(b)` are
 * equal JSON. It rests on one rule for whoever declares a projection: what
 * `choose` and `when` decide by must itself be kept.
 */
export interface Projection {
  /** Whether copying raw would give kept again. Allocates nothing. */
  same(kept: unknown, raw: unknown): boolean
  /** The projected copy, which shares no object with raw; undefined is absent. */
  copy(raw: unknown): unknown
}

type Members = Record<string, unknown>

/** Keeps a value whole. */
export const all: Projection = { same: equal, copy: clone }

/** Keeps the named members of an object, and any other kind of value whole. */
export function fields(members: Record<string, Projection>): Projection {
  const keys = Object.keys(members)
  const projections = keys.map((key) => members[key]!)
  return {
    same(kept, raw) {
      if (!isObject(raw)) return equal(kept, raw)
      if (!isObject(kept)) return false
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i]!
        const a = kept[key]
        const b = raw[key]
        if (a !== b && !projections[i]!.same(a, b)) return false
      }
      return true
    },
    copy(raw) {
      if (!isObject(raw)) return clone(raw)
      const kept: Members = {}
      for (let i = 0; i < keys.length; i++) {
        const value = projections[i]!.copy(raw[keys[i]!])
        if (value !== undefined) kept[keys[i]!] = value
      }
      return kept
    },
  }
}

/** Keeps every element of an array, in its place. */
export function list(element: Projection): Projection {
  return {
    same(kept, raw) {
      if (!Array.isArray(raw)) return equal(kept, raw)
      if (!Array.isArray(kept) || kept.length !== raw.length) return false
      for (let i = 0; i < raw.length; i++) if (!element.same(kept[i], raw[i])) return false
      return true
    },
    copy(raw) {
      return Array.isArray(raw) ? raw.map((value) => element.copy(value)) : clone(raw)
    },
  }
}

/** Keeps a value only where the condition holds. */
export function when(condition: (raw: unknown) => boolean, projection: Projection): Projection {
  return {
    same: (kept, raw) => (condition(raw) ? projection.same(kept, raw) : kept === undefined),
    copy: (raw) => (condition(raw) ? projection.copy(raw) : undefined),
  }
}

/** Keeps a value as the projection that pick returns for it. */
export function choose(pick: (raw: Members) => Projection): Projection {
  const of = (raw: unknown) => (isObject(raw) ? pick(raw) : all)
  return {
    same: (kept, raw) => of(raw).same(kept, raw),
    copy: (raw) => of(raw).copy(raw),
  }
}

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
