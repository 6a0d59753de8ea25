import { createHash } from "node:crypto"
import type { MessageKey } from "./mutation.ts"
import type { CompiledOp, CompiledPatch } from "./patch.ts"
import type { Members, Projector } from "./projection.ts"
import { ObjectSnapshot } from "./snapshot.ts"

/**
 * The last array that the host confirmed. If the host does not answer a later pass, the shim applies the patches of
 * this array again. LastArray finds out which of them still fit. A patch names parts by their index, so in a message
 * that has changed, `/parts/1` may now be another part, or missing.
 */
export class LastArray {
  /** For each message, by its key, a snapshot or the digest of a snapshot. The keys are in the order of the array. */
  private readonly known: ReadonlyMap<string, unknown>
  private readonly projection: Projector

  private constructor(known: ReadonlyMap<string, unknown>, projection: Projector) {
    this.known = known
    this.projection = projection
  }

  static of(snapshots: readonly unknown[], key: MessageKey, projection: Projector): LastArray {
    const known = new Map<string, unknown>()
    for (const message of snapshots) {
      const name = key(message)
      if (name !== undefined) known.set(name, message)
    }
    return new LastArray(known, projection)
  }

  /** The keys of the first `count` messages. */
  first(count: number): Set<string> {
    return new Set([...this.known.keys()].slice(0, count))
  }

  /** Adapts a patch to the message that now has this key. Returns undefined if the patch could change a wrong part. */
  fitted(patch: CompiledPatch, key: string, message: unknown): CompiledPatch | undefined {
    const was = this.known.get(key)
    if (was === undefined) return undefined
    if (was instanceof Digest) return was.isOf(this.projection.snapshot(message)) ? patch : undefined
    return this.projection.same(was, message) ? patch : moved(patch, was, message, this.projection)
  }

  /** Returns a copy with only a few bytes per message. It still shows whether a message has changed, but not how. */
  condensed(): LastArray {
    const digests = new Map<string, unknown>()
    for (const [key, message] of this.known) digests.set(key, message instanceof Digest ? message : new Digest(message))
    return new LastArray(digests, this.projection)
  }
}

class Digest {
  private readonly text: string

  constructor(snapshot: unknown) {
    this.text = digest(snapshot)
  }

  isOf(snapshot: unknown): boolean {
    return this.text === digest(snapshot)
  }
}

function digest(snapshot: unknown): string {
  const text = JSON.stringify(snapshot, (_, value: unknown) => (typeof value === "bigint" ? { long: String(value) } : value))
  return createHash("sha256").update(text).digest("base64")
}

/**
 * Adapts a patch to a message that has changed, for example because it grew at its end or lost a reminder. Each
 * operation gets the new index of its part. Operations on parts that are gone are left out. Returns undefined if it
 * cannot tell two parts apart, or if the patch replaces the content of a part that has changed.
 */
function moved(patch: CompiledPatch, was: unknown, message: unknown, projection: Projector): CompiledPatch | undefined {
  const list = patch[0]?.path[0]?.name
  // If the projection sends a message whole, its parts cannot be compared one by one.
  if (list === undefined || !isInOrder(patch, list) || was instanceof ObjectSnapshot) return undefined
  const before = (was as Members)[list]
  const now = (message as Members)[list]
  if (!Array.isArray(before) || !Array.isArray(now)) return undefined

  const isSame = samePart(list, message, projection)
  if (before.length <= now.length && before.every((part, i) => isSame(part, now[i]))) return patch // the message has only grown
  const places = new Map<number, Place>()
  const inside: CompiledOp[] = []
  const removed: CompiledOp[] = []
  const appended: CompiledOp[] = []
  for (const op of patch) {
    const { index } = op.path[1]!
    if (index < 0) {
      appended.push(op)
      continue
    }
    const place = places.get(index) ?? find(index, before, now, isSame)
    places.set(index, place)
    if (place === "gone") continue
    const isRemoved = op.op === "remove" && op.path.length === 2
    if (place === "unknown" || (place.hasChanged && !isRemoved && op.op !== "prepend" && op.op !== "append")) return undefined
    const path = [op.path[0]!, { name: String(place.index), index: place.index }, ...op.path.slice(2)]
    ;(isRemoved ? removed : inside).push({ ...op, path })
  }
  // Each removal shifts the parts after it, so the last part must be removed first. The parts may have changed places,
  // so the removals are sorted again.
  removed.sort((a, b) => b.path[1]!.index - a.path[1]!.index)
  return [...inside, ...removed, ...appended]
}

/**
 * True if no operation moves a part that a later operation uses: parts are removed from the last to the first, and new
 * parts are appended only after all removals.
 */
function isInOrder(patch: CompiledPatch, list: string): boolean {
  let end = Infinity
  for (const { op, path } of patch) {
    if (path.length < 2 || path[0]!.name !== list) return false
    const { name, index } = path[1]!
    const isAppended = path.length === 2 && op === "add" && name === "-"
    if (isAppended) end = 0
    else if (index < 0 || index >= end || (path.length === 2 && op === "add")) return false
    else if (path.length === 2 && op === "remove") end = index
  }
  return true
}

/**
 * Returns a function that compares an old part with a new part. A projection can only compare whole messages, so the
 * function wraps each part in a message of its own.
 */
function samePart(list: string, message: unknown, projection: Projector): (was: unknown, part: unknown) => boolean {
  const rest = projection.snapshot({ ...(message as Members), [list]: [] }) as Members
  return (was, part) => projection.same({ ...rest, [list]: [was] }, { ...(message as Members), [list]: [part] })
}

/** The place of an old part in the new message. A part with an id is found even if it has changed. */
type Place = { readonly index: number; readonly hasChanged: boolean } | "gone" | "unknown"

/** Finds the new place of the part that was at `index`. */
function find(index: number, before: readonly unknown[], now: readonly unknown[], isSame: (was: unknown, part: unknown) => boolean): Place {
  if (index >= before.length) return "unknown"
  const equals = now.flatMap((part, i) => (isSame(before[index], part) ? [i] : []))
  if (equals.length === 0) {
    const id = idOf(before[index])
    if (id === undefined) return "gone"
    const at = now.findIndex((part) => idOf(part) === id)
    return at < 0 ? "gone" : { index: at, hasChanged: true }
  }
  // The message may contain several equal parts. If it still has as many of them as before, they are in the same order.
  const alike = before.flatMap((part, i) => (isSame(part, now[equals[0]!]) ? [i] : []))
  return alike.length === equals.length ? { index: equals[alike.indexOf(index)]!, hasChanged: false } : "unknown"
}

function idOf(part: unknown): unknown {
  return (part as { id?: unknown } | null)?.id
}
