import { clone } from "./projection.ts"
import type { PatchOp } from "./generated/protocol.ts"

/** A patch of one message, its paths parsed. */
export type CompiledPatch = readonly CompiledOp[]

interface CompiledOp {
  readonly op: PatchOp["op"]
  readonly path: readonly Segment[]
  readonly value: unknown
}

/** One step of a path; index is -1 where the name is none. */
interface Segment {
  readonly name: string
  readonly index: number
}

export class PatchError extends Error {
  override name = "PatchError"
}

/** Parses the paths of a patch and checks the shape of its operations. */
export function compile(patch: readonly PatchOp[]): CompiledPatch {
  return patch.map((op) => {
    const path = parsePointer(op.path).map((name) => ({ name, index: /^(0|[1-9]\d*)$/.test(name) ? Number(name) : -1 }))
    switch (op.op) {
      case "add":
      case "replace":
        if (op.value === undefined) throw new PatchError(`${op.op} ${op.path} has no value`)
        break
      case "prepend":
        if (typeof op.value !== "string") throw new PatchError(`prepend ${op.path} has no string`)
        break
      case "remove":
        break
      default:
        throw new PatchError(`unknown operation ${JSON.stringify(op.op)}`)
    }
    return { op: op.op, path, value: op.value }
  })
}

/** Parses a JSON Pointer (RFC 6901). The whole document is no valid target: a message stays a message. */
export function parsePointer(pointer: string): string[] {
  if (typeof pointer !== "string" || pointer[0] !== "/") throw new PatchError(`bad path ${JSON.stringify(pointer)}`)
  const segments = pointer.slice(1).split("/")
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!
    if (!segment.includes("~")) continue
    if (/~(?![01])/.test(segment)) throw new PatchError(`bad path ${JSON.stringify(pointer)}`)
    segments[i] = segment.replaceAll("~1", "/").replaceAll("~0", "~")
  }
  return segments
}

type Container = Record<string, unknown> | unknown[]

/**
 * The patched message. The given one is not touched: what the patch changes is
 * copied, the rest is shared. Throws PatchError if an operation has no target.
 */
export function patched(message: unknown, patch: CompiledPatch): unknown {
  const copy = new CopyOnWrite(message, patch.length > 1)
  for (const op of patch) copy.apply(op)
  return copy.root
}

/** One message, copied as far as it is written to. */
class CopyOnWrite {
  root: unknown
  /** What is a copy already, if it can be met again. */
  private readonly own: Container[] | undefined

  constructor(message: unknown, manyOps: boolean) {
    this.root = message
    this.own = manyOps ? [] : undefined
  }

  apply({ op, path, value }: CompiledOp): void {
    const last = path[path.length - 1]!
    const parent = this.writable(path)
    if (Array.isArray(parent)) {
      if (op === "add") {
        parent.splice(last.name === "-" ? parent.length : index(last, parent.length + 1, path), 0, clone(value))
        return
      }
      const at = index(last, parent.length, path)
      if (op === "remove") parent.splice(at, 1)
      else parent[at] = op === "prepend" ? prepended(parent[at], value, path) : clone(value)
      return
    }
    const { name } = last
    if (name === "__proto__") throw missing(path)
    if (op === "prepend") {
      parent[name] = prepended(parent[name], value, path)
      return
    }
    if (op !== "add" && !Object.hasOwn(parent, name)) throw missing(path)
    if (op === "remove") delete parent[name]
    else parent[name] = clone(value)
  }

  /** The object or array that holds the last segment of path, copied along with all above it. */
  private writable(path: readonly Segment[]): Container {
    let parent = (this.root = this.copied(this.root, path))
    for (let i = 0; i < path.length - 1; i++) {
      const segment = path[i]!
      if (Array.isArray(parent)) {
        const at = index(segment, parent.length, path)
        parent = parent[at] = this.copied(parent[at], path)
      } else {
        const { name } = segment
        if (name === "__proto__") throw missing(path) // all else that is inherited is no object
        parent = parent[name] = this.copied(parent[name], path)
      }
    }
    return parent
  }

  private copied(value: unknown, path: readonly Segment[]): Container {
    if (typeof value !== "object" || value === null) throw missing(path)
    if (this.own?.includes(value as Container)) return value as Container
    const copy = Array.isArray(value) ? value.slice() : { ...value }
    this.own?.push(copy as Container)
    return copy as Container
  }
}

function index(segment: Segment, limit: number, path: readonly Segment[]): number {
  if (segment.index < 0 || segment.index >= limit) throw missing(path)
  return segment.index
}

function prepended(target: unknown, value: unknown, path: readonly Segment[]): string {
  if (typeof target !== "string") throw missing(path)
  return (value as string) + target
}

function missing(path: readonly Segment[]): PatchError {
  return new PatchError(`nothing to patch at /${path.map(({ name }) => name).join("/")}`)
}
