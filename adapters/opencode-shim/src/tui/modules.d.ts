// The part of Solid that OpenCode provides in its terminal to a plugin. No package of that name is installed here: if
// the bundler followed an import of it, the build would fail at once.

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
  /**
   * Shows the elements that a function returns, and calls the function again when a signal that it has read changes.
   */
  export function insert(parent: Element, elements: () => Element[]): unknown
  export function setProp(element: Element, name: string, value: unknown): unknown
  export function effect(body: () => void): void
  export function useKeyboard(pressed: (key: { readonly name: string }) => void): void
}
