import { MutationApplier, type Draft, type MessageKey } from "./applier.ts"
import { asError, RpcError } from "./connection.ts"
import { DeltaEncoder, type Delta } from "./encoder.ts"
import { Code, Method, type InitializeResult, type WireMutation } from "./generated/protocol.ts"
import type { Host } from "./host.ts"
import type { Log } from "./log.ts"
import type { Projector } from "./projection.ts"

/** How a harness's messages are read. */
export interface MessageFormat {
  projection: Projector
  key: MessageKey
}

/** The session that a pass is for. */
export interface PassOf {
  session: string
  directory: string
  parent?: string
}

/** What became of the array: the host's answer, the last good mutation, or nothing. */
export type Outcome = "applied" | "reapplied" | "unchanged"

/** Sessions whose last array is remembered; the others resync. Arrays are large, mutations are not. */
const rememberedArrays = 8
const rememberedSessions = 256

interface SessionState {
  encoder: DeltaEncoder
  applier: MutationApplier
  generation: number
  last: Promise<unknown>
}

interface Answer {
  /** What was asked. */
  delta: Delta
  mutation: WireMutation
  draft?: Draft | undefined
}

/** Runs the passes of a harness's sessions: those of one session in order, different sessions side by side. */
export class Passes {
  private readonly sessions = new Map<string, SessionState>()
  private readonly host: Host
  private readonly format: MessageFormat
  private readonly log: Log
  private readonly observe: (failure: Error | undefined) => void

  /** observe hears of the failure of every pass, or that it had none. */
  constructor(host: Host, format: MessageFormat, log: Log, observe: (failure: Error | undefined) => void = () => {}) {
    this.host = host
    this.format = format
    this.log = log
    this.observe = observe
  }

  /** Turns messages into the wire, in place. Never fails and never outlasts the deadlines of limits. */
  async run(messages: unknown[], of: PassOf, limits: InitializeResult): Promise<Outcome> {
    const state = this.state(of.session)
    const pass = state.last.then(() => this.pass(state, messages, of, limits))
    state.last = pass
    return pass
  }

  /** Does for messages what a pass without an answer does. */
  async withoutHost(messages: unknown[], session: string): Promise<Outcome> {
    const state = this.state(session)
    await state.last
    return this.fallBack(state, messages)
  }

  /** Forgets a session that is gone. */
  forget(session: string): void {
    this.sessions.delete(session)
  }

  private async pass(state: SessionState, messages: unknown[], of: PassOf, limits: InitializeResult): Promise<Outcome> {
    try {
      await this.host.reach() // before the array is encoded, which is all of it after a failure
      if (state.generation !== this.host.generation) state.encoder.reset()
      const { delta, mutation, draft } = await this.answer(state, messages, of, limits)
      // What the host holds is what the next delta builds on only if its answer could be applied.
      state.encoder.reset()
      state.applier.apply(messages, mutation, delta.base === 0, draft)
      state.encoder.confirm(delta, mutation.revision)
      state.generation = this.host.generation
      this.observe(undefined)
      return "applied"
    } catch (err) {
      this.observe(asError(err))
      const outcome = this.fallBack(state, messages)
      this.log.warn("pass failed", { session: of.session, cause: asError(err).message, outcome })
      return outcome
    }
  }

  /** What the host says of messages, and what was made of the wire meanwhile. */
  private async answer(state: SessionState, messages: unknown[], of: PassOf, limits: InitializeResult): Promise<Answer> {
    const { encoder, applier } = state
    const guess = encoder.guess(messages)
    // Whether the guess is right shows while the host works on it.
    const check = async () => (encoder.isRight(guess, messages) ? applier.draft(messages, guess.keep) : undefined)
    const [answer, draft] = await Promise.all([this.ask(encoder, guess, messages, of, limits), check()])
    if (draft || answer.delta !== guess) return { ...answer, draft }
    // The host holds the array that was guessed, and hears now how this one differs.
    applier.learn(messages, answer.mutation)
    encoder.confirm(guess, answer.mutation.revision)
    return this.ask(encoder, encoder.encode(messages), messages, of, limits)
  }

  /** The answer to a delta of messages, or to all of them if the host does not hold its base. */
  private async ask(encoder: DeltaEncoder, delta: Delta, messages: unknown[], of: PassOf, limits: InitializeResult): Promise<Answer> {
    try {
      return { delta, mutation: await this.send(delta, of, limits) }
    } catch (err) {
      if (!(err instanceof RpcError) || err.code !== Code.Resync || delta.base === 0) throw err
    }
    encoder.reset()
    const all = encoder.encode(messages)
    return { delta: all, mutation: await this.send(all, of, limits) }
  }

  private send({ base, keep, attachment }: Delta, of: PassOf, limits: InitializeResult): Promise<WireMutation> {
    const timeoutMS = base === 0 ? limits.resyncTimeoutMs : limits.transformTimeoutMs
    return this.host.call(Method.Transform, { ...of, base, keep }, { timeoutMS, attachment })
  }

  private fallBack(state: SessionState, messages: unknown[]): Outcome {
    try {
      return state.applier.reapply(messages) ? "reapplied" : "unchanged"
    } catch {
      return "unchanged"
    }
  }

  /** The state of a session, now the most recently used. */
  private state(session: string): SessionState {
    const state = this.sessions.get(session) ?? {
      encoder: new DeltaEncoder(this.format.projection),
      applier: new MutationApplier(this.format.key),
      generation: 0,
      last: Promise.resolve(),
    }
    this.sessions.delete(session)
    this.sessions.set(session, state)
    let age = this.sessions.size
    for (const [id, old] of this.sessions) {
      if (age > rememberedSessions) this.sessions.delete(id)
      else if (age === rememberedArrays + 1) old.encoder.reset()
      age--
    }
    return state
  }
}
