/** OpenCode resolves these imports to its own Solid. */
export async function loadSolid(): Promise<Solid> {
  const [{ createSignal }, { createElement, effect, insert, insertNode, setProp, useKeyboard }] = await Promise.all([import("solid-js"), import("@opentui/solid")])
  return { createElement, createSignal, effect, insert, insertNode, setProp, useKeyboard }
}

export type Solid = Omit<typeof import("solid-js") & typeof import("@opentui/solid"), "default">
export type Element = ReturnType<Solid["createElement"]>

/** Both the user's plugin and a project's plugin may try to run a half in this terminal. */
const state = ((globalThis as Record<symbol, unknown>)[Symbol.for("magicctx.terminal")] ??= { hasHalf: false }) as { hasHalf: boolean }

/** Returns a function that gives the terminal back, or undefined if another half has the terminal. */
export function claimTerminal(): (() => void) | undefined {
  if (state.hasHalf) return undefined
  state.hasHalf = true
  return () => void (state.hasHalf = false)
}
