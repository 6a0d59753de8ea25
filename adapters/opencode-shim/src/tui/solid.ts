/** OpenCode resolves these imports to its own Solid. */
export async function loadSolid(): Promise<Solid> {
  const [{ createSignal }, { createElement, effect, insert, insertNode, setProp, useKeyboard }] = await Promise.all([import("solid-js"), import("@opentui/solid")])
  return { createElement, createSignal, effect, insert, insertNode, setProp, useKeyboard }
}

export type Solid = Omit<typeof import("solid-js") & typeof import("@opentui/solid"), "default">
export type Element = ReturnType<Solid["createElement"]>

/** The user's plugin and a project's plugin may both be loaded in this terminal. Only one of them may run. */
const state = ((globalThis as Record<symbol, unknown>)[Symbol.for("magicctx.terminal")] ??= { hasHalf: false }) as { hasHalf: boolean }

/** Reserves the terminal. Returns a function that frees it, or undefined if another plugin has the terminal. */
export function claimTerminal(): (() => void) | undefined {
  if (state.hasHalf) return undefined
  state.hasHalf = true
  return () => void (state.hasHalf = false)
}
