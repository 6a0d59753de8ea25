// OpenCode provides this part of Solid to a plugin in its terminal. No package of that name is installed here, so the
// build fails if the bundler follows an import.

declare module "solid-js" {
  export function createSignal<T>(value: T): [() => T, (set: () => T) => unknown]
}

declare module "@opentui/solid" {
  interface Element {
    /** Only a scrollbox can scroll. */
    scrollBy?(rows: number): void
  }
  export function createElement(tag: "box" | "scrollbox" | "text"): Element
  export function insertNode(parent: Element, child: Element): void
  /**
   * Shows the elements that a function returns, and calls the function again after a change of a signal that it has
   * read.
   */
  export function insert(parent: Element, elements: () => Element[]): unknown
  export function setProp(element: Element, name: string, value: unknown): unknown
  export function effect(body: () => void): void
  export function useKeyboard(pressed: (key: { readonly name: string }) => void): void
}
