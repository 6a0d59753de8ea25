// The part of Solid that OpenCode provides in its terminal to a plugin. No package of that name is installed here, so an
// import that the bundler follows fails at once.

declare module "solid-js" {
  export function createSignal<T>(value: T): [() => T, (set: () => T) => unknown]
}

declare module "@opentui/solid" {
  interface Element {
    /** A scrollbox has this. */
    scrollBy?(rows: number): void
  }
  export function createElement(tag: "box" | "scrollbox" | "text"): Element
  export function insertNode(parent: Element, child: Element): void
  /** Shows the elements that a function returns, and calls it again after a change of what it has read. */
  export function insert(parent: Element, elements: () => Element[]): unknown
  export function setProp(element: Element, name: string, value: unknown): unknown
  export function effect(body: () => void): void
  export function useKeyboard(pressed: (key: { readonly name: string }) => void): void
}
/** The Solid of OpenCode, which it puts in the place of these imports. */
export async function loadSolid(): Promise<Solid> {
  const [{ createSignal }, { createElement, effect, insert, insertNode, setProp, useKeyboard }] = await Promise.all([import("solid-js"), import("@opentui/solid")])
  return { createElement, createSignal, effect, insert, insertNode, setProp, useKeyboard }
}

export type Solid = Omit<typeof import("solid-js") & typeof import("@opentui/solid"), "default">
export type Element = ReturnType<Solid["createElement"]>

/** The half that a terminal has, if any: the user's plugin and that of a project may both bring one. */
const state = ((globalThis as Record<symbol, unknown>)[Symbol.for("magicctx.terminal")] ??= { hasHalf: false }) as { hasHalf: boolean }

/** Claims the terminal for one half. Returns undefined if another half has it, otherwise the function that gives it back. */
export function claimTerminal(): (() => void) | undefined {
  if (state.hasHalf) return undefined
  state.hasHalf = true
  return () => void (state.hasHalf = false)
}
