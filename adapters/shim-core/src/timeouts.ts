/** Deadlines of all calls except passes, in ms. */
export const timeoutMS = { hook: 2_000, system: 5_000, command: 10_000, tool: 60_000 } as const
