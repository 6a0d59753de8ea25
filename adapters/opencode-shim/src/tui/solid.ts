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
