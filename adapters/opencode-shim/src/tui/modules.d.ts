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
