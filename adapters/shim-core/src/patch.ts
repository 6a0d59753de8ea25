import { clone } from "./projection.ts"
import type { PatchOp } from "./generated/protocol.ts"

/** A patch of one message, with its paths parsed. */
export type CompiledPatch = readonly CompiledOp[]

export interface CompiledOp {
  readonly op: PatchOp["op"]
  readonly path: readonly Segment[]
  readonly value: unknown
}

/** A segment of a path, for example "parts" or "0". If the name is not an index, `index` is -1. */
interface Segment {
  readonly name: string
  readonly index: number
}

export class PatchError extends Error {
  override name = "PatchError"
}

/** Parses the paths of a patch, and checks that each operation has the value that it needs. */
export function compile(patch: readonly PatchOp[]): CompiledPatch {
  return patch.map((op) => {
    const path = parsePointer(op.path).map((name) => ({ name, index: /^(0|[1-9]\d*)$/.test(name) ? Number(name) : -1 }))
    switch (op.op) {
      case "add":
      case "replace":
        if (op.value === undefined) throw new PatchError(`${op.op} ${op.path} has no value`)
        break
      case "prepend":
      case "append":
        if (typeof op.value !== "string") throw new PatchError(`${op.op} ${op.path} has no string`)
        break
      case "remove":
        break
      default:
        throw new PatchError(`unknown operation ${JSON.stringify(op.op)}`)
    }
    return { op: op.op, path, value: op.value }
  })
}

/** Parses a JSON Pointer (RFC 6901). The empty pointer is refused: no patch replaces a whole message. */
export function parsePointer(pointer: string): string[] {
  if (typeof pointer !== "string" || pointer[0] !== "/") throw new PatchError(`bad path ${JSON.stringify(pointer)}`)
  const segments = pointer.slice(1).split("/")
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!
    if (segment === "__proto__") throw new PatchError(`bad path ${JSON.stringify(pointer)}`)
    if (!segment.includes("~")) continue
    if (/~(?![01])/.test(segment)) throw new PatchError(`bad path ${JSON.stringify(pointer)}`)
    segments[i] = segment.replaceAll("~1", "/").replaceAll("~0", "~")
  }
  return segments
}

type Container = Record<string | number, unknown>

/** A member of a message and its new value. The value undefined removes the member. */
export interface Write {
  readonly target: Container
  readonly name: string | number
  readonly value: unknown
  readonly before: unknown
}

/**
 * Returns the writes that apply a patch to a message. plan does not change the message, because a later operation may
 * still fail. If an operation has no target, plan throws PatchError.
 */
export function plan(message: unknown, patch: CompiledPatch): Write[] {
  const writes: Write[] = []
  for (const op of patch) writes.push(writeOf(op, message, writes))
  return writes
}

/**
 * Makes the writes of each plan. If a write fails, for example because another plugin has frozen the object, the other
 * writes of that plan are undone. Returns the indices of the failed plans.
 */
export function write(plans: ReadonlyArray<readonly Write[]>): number[] {
  const failed: number[] = []
  for (let i = 0; i < plans.length; i++) if (plans[i]!.length > 0 && !writeAll(plans[i]!)) failed.push(i)
  return failed
}

function writeAll(plan: readonly Write[]): boolean {
  let made = 0
  try {
    for (; made < plan.length; made++) put(plan[made]!, plan[made]!.value)
    return true
  } catch {
    while (--made >= 0) put(plan[made]!, plan[made]!.before)
    return false
  }
}

function put({ target, name }: Write, value: unknown): void {
  if (value === undefined) delete target[name]
  else target[name] = value
}

/**
 * Returns the write of one operation. The earlier writes of the plan are not in the message yet. So if one of them
 * changes a member, writeOf uses the new value from `earlier` instead of the value in the message.
 */
function writeOf({ op, path, value }: CompiledOp, message: unknown, earlier: readonly Write[]): Write {
  const last = path.length - 1
  let above: Container | undefined
  let target = container(message, path)
  for (let i = 0; i < last; i++) {
    above = target
    target = container(member(target, path[i]!, earlier), path)
  }
  if (Array.isArray(target) && (op === "add" || op === "remove")) {
    if (!above) throw missing(path)
    // Adding or removing an element moves the elements after it. So the write replaces the whole array with a changed
    // copy.
    const changed = target.slice()
    for (const one of earlier) if (one.target === target) changed[one.name as number] = one.value
    if (op === "remove") changed.splice(place(path[last]!, target.length, path), 1)
    else changed.splice(path[last]!.name === "-" ? target.length : place(path[last]!, target.length + 1, path), 0, clone(value))
    return { target: above, name: nameIn(above, path[last - 1]!), value: changed, before: target }
  }
  const name = nameIn(target, path[last]!)
  const before = member(target, path[last]!, earlier)
  switch (op) {
    case "prepend":
    case "append":
      if (typeof before !== "string") throw missing(path)
      return { target, name, value: op === "prepend" ? (value as string) + before : before + (value as string), before }
    case "replace":
    case "remove":
      if (!isJSON(before)) throw missing(path)
  }
  return { target, name, value: clone(value), before: isJSON(before) ? before : undefined }
}

/** The value that a member will have after the earlier writes. */
function member(target: Container, segment: Segment, earlier: readonly Write[]): unknown {
  for (let i = earlier.length - 1; i >= 0; i--) {
    if (earlier[i]!.target === target && earlier[i]!.name === nameIn(target, segment)) return earlier[i]!.value
  }
  return Array.isArray(target) ? target[segment.index] : target[segment.name]
}

function nameIn(target: Container, { name, index }: Segment): string | number {
  return Array.isArray(target) ? index : name
}

function container(value: unknown, path: readonly Segment[]): Container {
  if (typeof value !== "object" || value === null) throw missing(path)
  return value as Container
}

/**
 * True if a message can contain the value. A path such as "/toString" names a function that every object inherits, so
 * functions do not count.
 */
function isJSON(value: unknown): boolean {
  return value !== undefined && typeof value !== "function"
}

function place({ index }: Segment, limit: number, path: readonly Segment[]): number {
  if (index < 0 || index >= limit) throw missing(path)
  return index
}

function missing(path: readonly Segment[]): PatchError {
  return new PatchError(`nothing to patch at /${path.map(({ name }) => name).join("/")}`)
}
