/**
 * A projection names the members of a harness's message that the host uses. It is declared once, as data. generate.ts
 * turns it into functions that copy and compare these members, so the comparison always covers exactly the sent
 * members.
 */
export type Projection =
  | { readonly kind: "all" }
  | { readonly kind: "nothing" }
  | { readonly kind: "fields"; readonly members: Readonly<Record<string, Projection>> }
  | { readonly kind: "list"; readonly element: Projection }
  | { readonly kind: "cases"; readonly path: readonly string[]; readonly cases: ReadonlyMap<Literal, Projection>; readonly otherwise: Projection }

export type Literal = string | number | boolean | null | undefined

/** Keeps a value whole. */
export const all: Projection = { kind: "all" }

/** Leaves a value out. */
export const nothing: Projection = { kind: "nothing" }

/** Keeps the named members of an object. Keeps any other kind of value whole. */
export function fields(members: Record<string, Projection>): Projection {
  return { kind: "fields", members }
}

/** Keeps every element of an array in its place. Keeps any other kind of value whole. */
export function list(element: Projection): Projection {
  return { kind: "list", element }
}

/**
 * Chooses a projection by the value of the member at path; the empty path is the value itself. For example, a part is
 * projected by its type. The projection must keep that member, or the shim would not notice a change from one case to
 * another.
 */
export function cases(path: readonly string[], of: ReadonlyArray<readonly [Literal, Projection]>, otherwise: Projection): Projection {
  return { kind: "cases", path, cases: new Map(of), otherwise }
}
