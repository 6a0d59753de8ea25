import { message } from "../../opencode-shim/src/v1/generated/message.ts"
import { session as piSession } from "../../pi-shim/bench/session.ts"
import { step } from "../../pi-shim/src/generated/step.ts"
import type { Message } from "../../pi-shim/src/pi.ts"
import { flatten, join, type Step } from "../../pi-shim/src/steps.ts"
import type { Harness, Passes } from "../src/index.ts"
import { session, type RawMessage } from "./session.ts"

/** A harness that the benchmark can measure. Its functions make sessions of the harness, and run passes of its shim. */
export interface Bench {
  readonly harness: Harness
  readonly format: ConstructorParameters<typeof Passes>[1]
  /**
   * A long session, as the harness stores it. In Pi, an answer and each result of its calls are elements of their own
   * in this array, but together they are one message of the protocol.
   */
  history(messages: number, now: number): unknown[]
  /** How many elements of the array make up the first `messages` messages of the protocol. */
  end(history: readonly unknown[], messages: number): number
  /** Runs the shim's pass on an array that the harness has just made. */
  pass(array: unknown[], run: (messages: unknown[]) => Promise<string>): Promise<string>
}

export const opencode: Bench = {
  harness: "opencode",
  format: { projection: message, key: (m) => (m as RawMessage).info.id },
  history: session,
  end: (_, messages) => messages,
  pass: (array, run) => run(array),
}

export const pi: Bench = {
  harness: "pi",
  format: { projection: step, key: (one) => (one as Step).id },
  history: piSession,
  end(history, messages) {
    let count = 0
    const at = history.findIndex((one) => (one as Message).role !== "toolResult" && count++ === messages)
    return at < 0 ? history.length : at
  },
  async pass(array, run) {
    const steps = join(array as Message[])
    const outcome = await run(steps)
    flatten(steps)
    return outcome
  },
}
