/** The Solid of OpenCode, which it puts in the place of these imports. */
export async function loadSolid(): Promise<Solid> {
  const [{ createSignal }, { createElement, effect, insertNode, setProp, useKeyboard }] = await Promise.all([import("solid-js"), import("@opentui/solid")])
  return { createElement, createSignal, effect, insertNode, setProp, useKeyboard }
}

export type Solid = Omit<typeof import("solid-js") & typeof import("@opentui/solid"), "default">
