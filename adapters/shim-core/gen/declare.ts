/**
 * A projection lists the members of a harness's message that the shim sends to the host. From a projection, generate.ts
 * makes a function that copies these members and a function that compares them. So a comparison covers exactly the
 * members that are sent.
 */
export type Projection =
  | { readonly kind: "all" }
  | { readonly kind: "nothing" }
  | { readonly kind: "fields"; readonly members: Readonly<Record<string, Projection>> }
  | { readonly kind: "list"; readonly element: Projection }
  | { readonly kind: "cases"; readonly path: readonly string[]; readonly cases: ReadonlyMap<Literal, Projection>; readonly otherwise: Projection }

export type Literal = string | number | boolean | null | undefined

/** Sends a value whole. */
export const all: Projection = { kind: "all" }

/** Leaves a value out. */
export const nothing: Projection = { kind: "nothing" }

/** Sends only the named members of an object. A value that is no object is sent whole. */
export function fields(members: Record<string, Projection>): Projection {
  return { kind: "fields", members }
}

/** Sends every element of an array, projected by `element`. A value that is no array is sent whole. */
export function list(element: Projection): Projection {
  return { kind: "list", element }
}

/**
 * Chooses a projection by the value of the member at `path`, for example by the type of a part. The empty path is the
 * value itself. The chosen projection must send that member, too. Otherwise, the shim would not notice a change from
 * one case to another.
 */
export function cases(path: readonly string[], of: ReadonlyArray<readonly [Literal, Projection]>, otherwise: Projection): Projection {
  return { kind: "cases", path, cases: new Map(of), otherwise }
}
