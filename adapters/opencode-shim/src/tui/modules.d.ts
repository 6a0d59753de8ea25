// In its terminal, OpenCode provides these functions of Solid to a plugin. The packages solid-js and @opentui/solid are
// not installed in this repository. So build.mjs must list both as external, or the build fails.

declare module "solid-js" {
  export function createSignal<T>(value: T): [() => T, (set: () => T) => unknown]
}

declare module "@opentui/solid" {
  interface Element {
    /** Only a scrollbox can scroll. */
    scrollBy?(rows: number): void
    readonly parent?: Element
    /** In columns, after the element was drawn. */
    readonly width?: number
  }
  export function createElement(tag: "box" | "scrollbox" | "text"): Element
  export function insertNode(parent: Element, child: Element): void
  /**
   * Shows the result of `elements` in `parent`. If a signal that `elements` has read changes, Solid calls `elements`
   * again.
   */
  export function insert(parent: Element, elements: () => Element[]): unknown
  export function setProp(element: Element, name: string, value: unknown): unknown
  export function effect(body: () => void): void
  export function useKeyboard(pressed: (key: { readonly name: string }) => void): void
}
