import { MutationApplier, type Draft } from "./applier.ts"
import { asError, RpcError } from "./connection.ts"
import { DeltaEncoder, type Delta } from "./encoder.ts"
import { Code, Method, type InitializeResult, type Model, type Verdict, type WireMutation } from "./generated/protocol.ts"
import type { Host } from "./host.ts"
import type { Log } from "./log.ts"
import type { MessageKey } from "./mutation.ts"
import type { Projector } from "./projection.ts"

/** How to read a harness's messages. */
export interface MessageFormat {
  projection: Projector
  key: MessageKey
}

/** The session that a pass is for. */
export interface PassOf {
  session: string
  directory: string
  parent?: string
  /** The session from which this one was copied, if the harness reports that it is a copy. */
  original?: string
  /** The model of the request, if the messages of the harness do not name it. */
  model?: Model
}

/**
 * Where a pass's changes come from: from the host's answer ("applied"), or from the parts of earlier answers that still
 * fit ("reapplied"). A pass may also leave the messages unchanged.
 */
export type Outcome = "applied" | "reapplied" | "unchanged"

/**
 * Arrays are large, so only this many sessions, the most recently used ones, keep their last array in memory. All other
 * sessions keep only digests of their array, so their next pass is a resync.
 */
const rememberedArrays = 8
const rememberedSessions = 256

interface SessionState {
  encoder: DeltaEncoder
  applier: MutationApplier
  generation: number
  last: Promise<unknown>
  /**
   * The token of the wire with which the last request was sent, or undefined if that wire did not come from the host.
   */
  sent: string | undefined
  /** The verdict of the last pass that the host has answered. */
  verdict: Verdict | undefined
  /**
   * True if the host may have changed the system prompt since it last answered a request for the system prompt, for
   * example in a hard pass.
   */
  isSystemOld: boolean
  /**
   * The lines that the user typed and that the harness has replaced with a command's template, by message id. A line is
   * removed once the host has received it.
   */
  typed: Map<string, string>
}

/**
 * The system prompt of a request: the host's answer, the host's last answer to the same question, or a prompt without
 * the host's part.
 */
export type SystemPrompt = "answered" | "replayed" | "bare"

/** The parameters of a pass's request, without its delta. */
type Params = PassOf & { sent?: string; typed?: Record<string, string> }

interface Answer {
  /** The delta that was sent. */
  delta: Delta
  mutation: WireMutation
  draft?: Draft | undefined
}

/**
 * Runs the passes of a harness's sessions. The passes of one session run one after another. Different sessions run at
 * the same time.
 */
export class Passes {
  readonly #sessions = new Map<string, SessionState>()
  readonly #host: Host
  readonly #format: MessageFormat
  readonly #log: Log
  readonly #observe: (failure: Error | undefined) => void

  /** `observe` is called after every pass. It gets the error if the pass has failed, and otherwise undefined. */
  constructor(host: Host, format: MessageFormat, log: Log, observe: (failure: Error | undefined) => void = () => {}) {
    this.#host = host
    this.#format = format
    this.#log = log
    this.#observe = observe
  }

  /** Turns `messages` into the wire, in place. Never fails, and never takes longer than the deadlines in `limits`. */
  async run(messages: unknown[], of: PassOf, limits: InitializeResult): Promise<Outcome> {
    const state = this.#state(of.session)
    const pass = state.last.then(() => this.#pass(state, messages, of, limits))
    state.last = pass
    return pass
  }

  /** Applies the last good mutation to the messages without asking the host. A failed pass does the same. */
  async withoutHost(messages: unknown[], session: string): Promise<Outcome> {
    const state = this.#state(session)
    await state.last
    state.sent = undefined
    return this.#fallBack(state, messages).outcome
  }

  /**
   * Applies the last good mutation to a request that does not belong to the session's conversation, for example a
   * request that only keeps the cached prefix alive. The session's state does not change.
   */
  async repeat(messages: unknown[], session: string): Promise<Outcome> {
    const state = this.#sessions.get(session)
    await state?.last
    return state ? this.#reapply(state, messages).outcome : "unchanged"
  }

  /**
   * Remembers the line that the user typed for a message, because the harness has replaced the line with a command's
   * template.
   */
  typed(session: string, message: string, line: string): void {
    this.#state(session).typed.set(message, line)
  }

  /** Records that the session's next request is sent without a pass. */
  withoutPass(session: string): void {
    const state = this.#sessions.get(session)
    if (state) state.sent = undefined
  }

  /** Records which system prompt the request of the session's last pass contains. */
  leavesWith(system: SystemPrompt, session: string): void {
    const state = this.#sessions.get(session)
    if (!state) return
    if (system === "answered") state.isSystemOld = false
    else if (system === "bare" || state.isSystemOld) state.sent = undefined
  }

  /**
   * The token of the wire with which the session's last request was sent, or undefined if that wire did not come from
   * the host.
   */
  sent(session: string): string | undefined {
    return this.#sessions.get(session)?.sent
  }

  /** The verdict of the session's last pass that the host has answered. */
  verdict(session: string): Verdict | undefined {
    return this.#sessions.get(session)?.verdict
  }

  /** The head's messages in the session's newest wire, as the host sent them. */
  head(session: string): readonly unknown[] {
    return this.#sessions.get(session)?.applier.head ?? []
  }

  /** Forgets a session that is gone. */
  forget(session: string): void {
    this.#sessions.delete(session)
  }

  async #pass(state: SessionState, messages: unknown[], of: PassOf, limits: InitializeResult): Promise<Outcome> {
    const { typed } = state
    const params = {
      ...of,
      ...(state.sent !== undefined && { sent: state.sent }),
      ...(typed.size > 0 && { typed: Object.fromEntries(typed) }),
    }
    const told = typed.size > 0 ? messages.map(this.#format.key) : []
    state.sent = undefined
    try {
      await this.#host.reach() // before the encoding: on a new connection, the whole array is encoded
      if (state.generation !== this.#host.generation) state.encoder.reset()
      const { delta, mutation, draft } = await this.#answer(state, messages, params, limits)
      // If the answer cannot be applied, the next pass must send the whole array.
      state.encoder.reset()
      const unfit = state.applier.apply(messages, mutation, delta.base === 0, draft)
      state.encoder.confirm(delta, mutation.revision)
      state.generation = this.#host.generation
      this.#settle(state, mutation, of, unfit)
      for (const id of told) typed.delete(id ?? "")
      this.#observe(undefined)
      return "applied"
    } catch (err) {
      this.#observe(asError(err))
      const { outcome, unfit } = this.#fallBack(state, messages)
      this.#log.warn("pass failed", { session: of.session, cause: asError(err).message, outcome, unfit })
      return outcome
    }
  }

  /** Ends a pass whose answer was applied. Unfit is the number of messages whose patches did not fit. */
  #settle(state: SessionState, { wire, verdict }: WireMutation, { session }: PassOf, unfit: number): void {
    state.verdict = verdict
    state.isSystemOld ||= verdict === "hard"
    if (unfit === 0) {
      state.sent = wire
      return
    }
    // Host and shim disagree about the array, so the next pass sends all of it.
    state.encoder.reset()
    this.#log.warn("some patches do not fit, so their messages stay raw", { session, messages: unfit })
  }

  /** Gets the host's answer for `messages`, and plans the wire while it waits. */
  async #answer(state: SessionState, messages: unknown[], params: Params, limits: InitializeResult): Promise<Answer> {
    const { encoder, applier } = state
    const guess = encoder.guess(messages)
    // The guess assumes that the array has changed only at its end. It is sent at once, and checked while the host
    // works.
    const check = async () => (encoder.isRight(guess, messages) ? applier.draft(messages, guess.keep) : undefined)
    const [answer, draft] = await Promise.all([this.#ask(encoder, guess, messages, params, limits), check()])
    if (draft || answer.delta !== guess) return { ...answer, draft }
    // The guess was wrong, so the host has stored a wrong array. A second request corrects it: it sends the difference
    // to the real array.
    applier.learn(messages, answer.mutation)
    encoder.confirm(guess, answer.mutation.revision)
    return this.#ask(encoder, encoder.encode(messages), messages, params, limits)
  }

  /** Gets the answer to a delta of messages. If the host does not have the delta's base, sends the whole array. */
  async #ask(encoder: DeltaEncoder, delta: Delta, messages: unknown[], params: Params, limits: InitializeResult): Promise<Answer> {
    try {
      return { delta, mutation: await this.#send(encoder, delta, params, limits) }
    } catch (err) {
      if (!(err instanceof RpcError) || err.code !== Code.Resync || delta.base === 0) throw err
    }
    encoder.reset()
    const all = encoder.encode(messages)
    return { delta: all, mutation: await this.#send(encoder, all, params, limits) }
  }

  #send(encoder: DeltaEncoder, delta: Delta, params: Params, limits: InitializeResult): Promise<WireMutation> {
    const { base, keep, attachment } = delta
    const timeoutMS = base === 0 ? limits.resyncTimeoutMs : limits.transformTimeoutMs
    return this.#host.call(Method.Transform, { ...params, base, keep }, { timeoutMS, attachment, onSent: () => encoder.prepare(delta) })
  }

  #fallBack(state: SessionState, messages: unknown[]): { outcome: Outcome; unfit?: number } {
    state.isSystemOld = true // the host may have run a pass, but its answer never arrived
    return this.#reapply(state, messages)
  }

  #reapply({ applier, encoder }: SessionState, messages: unknown[]): { outcome: Outcome; unfit?: number } {
    try {
      const unfit = applier.reapply(messages, encoder.last(this.#format.key))
      return unfit === undefined ? { outcome: "unchanged" } : { outcome: "reapplied", unfit }
    } catch {
      return { outcome: "unchanged" }
    }
  }

  /** Returns the state of a session and marks it as the most recently used. */
  #state(session: string): SessionState {
    const state = this.#sessions.get(session) ?? {
      encoder: new DeltaEncoder(this.#format.projection),
      applier: new MutationApplier(this.#format.key),
      generation: 0,
      last: Promise.resolve(),
      sent: undefined,
      verdict: undefined,
      isSystemOld: false,
      typed: new Map<string, string>(),
    }
    this.#sessions.delete(session)
    this.#sessions.set(session, state)
    let age = this.#sessions.size
    for (const [id, old] of this.#sessions) {
      if (age > rememberedSessions) this.#sessions.delete(id)
      else if (age === rememberedArrays + 1) old.encoder.forget(this.#format.key)
      age--
    }
    return state
  }
}
