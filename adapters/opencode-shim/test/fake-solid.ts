import type { Solid } from "../src/tui/solid.ts"

/** An element is a plain object with its properties. */
export interface Node {
  tag: string
  content?: string
  fg?: unknown
  children: Node[]
  parent?: object
  width?: number
  onSizeChange?(): void
}

/** The texts of an element, one for each row. */
export function rowsOf(node: Node): string[] {
  if (node.tag === "text") return [node.content ?? ""]
  const rows = node.children.map(rowsOf)
  return (node as { flexDirection?: string }).flexDirection === "row" ? [rows.flat().join("|")] : rows.flat()
}

/** A fake of Solid, whose elements are plain objects. After each change, it simply runs all effects again. */
export class FakeSolid {
  /** The rows by which the user has scrolled. */
  scrolled = 0
  press: (key: { name: string }) => void = () => {}
  private readonly effects: Array<() => void> = []

  readonly load = async (): Promise<Solid> => ({
    createSignal: (value) => [() => value, (set) => {
      value = set()
      for (const effect of this.effects) effect()
    }],
    createElement: (tag) => ({ tag, children: [], scrollBy: (rows: number) => (this.scrolled += rows) }) as never,
    insertNode: (parent, child) => void (parent as unknown as Node).children.push(child as unknown as Node),
    insert: (parent, elements) => this.effect(() => void ((parent as unknown as Node).children = elements() as unknown as Node[])),
    useKeyboard: (pressed) => void (this.press = pressed),
    setProp: (element, name, value) => Object.assign(element, { [name]: value }),
    effect: (body) => this.effect(body),
  })

  /** How the user answers OpenCode's own dialogs, in order. Undefined means that the user closes the dialog. */
  readonly answers: unknown[] = []
  /** OpenCode's own dialogs that were shown. */
  readonly shown: unknown[] = []

  answer(shown: unknown): unknown {
    this.shown.push(shown)
    return this.answers.shift()
  }

  /** Ends the effects of all elements. The real Solid does this when the elements leave the screen. */
  clear(): void {
    this.effects.length = 0
  }

  private effect(body: () => void): void {
    this.effects.push(body)
    body()
  }
}
