// The part of Solid that OpenCode provides in its terminal to a plugin. No package of that name is installed here, so an
// import that is not lazy, or that the bundler would follow, fails at once.

declare module "solid-js" {
  export function createSignal<T>(value: T): [() => T, (set: () => T) => unknown]
}

declare module "@opentui/solid" {
  interface Element {
    readonly element: unique symbol
  }
  export function createElement(tag: "text"): Element
  export function setProp(element: Element, name: string, value: unknown): unknown
  export function effect(body: () => void): void
}
