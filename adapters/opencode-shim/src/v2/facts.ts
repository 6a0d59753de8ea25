import { within } from "@magicctx/shim-core"
import type { Entry, EventData, ModelRef, SessionDomain, StoredMessage, Tokens } from "./opencode2.ts"

/** OpenCode stores these facts about a message, but leaves them out of the array of a request. */
export interface Fact {
  type?: string
  created?: number
  completed?: number
  agent?: string
  providerID?: string
  modelID?: string
  finish?: string
  tokens?: Tokens
  error?: { type: string }
  /** The words that the user typed, without skills and files. Only the shim uses them, to find the typed part. */
  text?: string
}

const lookupMS = 2_000
/** If the event for the end of the previous answer is missing, a pass waits at most this long for it, in ms. */
const eventMS = 200
/** The facts of this many sessions stay in memory. */
const remembered = 32

/** The facts about the messages of each session. They come from events, and from OpenCode if an event is missing. */
export class Facts {
  /**
   * Maps the id of each prompt to the agent that had to answer it. OpenCode cannot be asked for this agent later, so
   * `forget` and `forgetAll` do not clear this map.
   */
  readonly asked = new Map<string, string>()
  readonly #sessions = new Map<string, Map<string, Fact>>()
  readonly #session: SessionDomain
  /** Called with each new fact. */
  readonly #waiting = new Set<() => void>()

  constructor(session: SessionDomain) {
    this.#session = session
  }

  /** `at` is the time of the event, in ms. */
  note(type: string, { sessionID, assistantMessageID: id, agent, model, started, finish, tokens, error }: EventData, at: number): void {
    if (!sessionID || !id) return
    const known = this.#sessions.get(sessionID)
    if (!known) return // the session's first request reads its facts from OpenCode
    // If OpenCode retries a failed answer, the facts of the failed attempt no longer count.
    const fact: Fact = (type !== "session.step.started" && known.get(id)) || { type: "assistant" }
    if (type === "session.step.started") {
      fact.created = started ?? at
      if (agent) fact.agent = agent
      if (model) Object.assign(fact, named(model))
    } else {
      fact.completed = at
      if (finish || error) fact.finish = finish ?? "error"
      if (tokens) fact.tokens = usage(tokens)
      if (error) fact.error = { type: error.type }
    }
    known.set(id, inOrder(fact))
    for (const wake of this.#waiting) wake()
  }

  async of(session: string, entries: readonly Entry[]): Promise<ReadonlyMap<string, Fact>> {
    const known = this.#known(session)
    const newest = entries.findLast(({ role, id }) => role === "assistant" && id)?.id
    const isKnown = (id: string) => isSettled(known.get(id), id === newest)
    if (entries.every(({ id }) => id === undefined || isKnown(id))) return known
    if (this.#session.context) {
      const answer = await within(lookupMS, this.#session.context({ sessionID: session }).catch(() => undefined))
      // Known facts are kept. The time in OpenCode's answer may differ from the time of the event, and the host would
      // take the difference for a change of the message.
      for (const message of listOf(answer)) if (!isKnown(message.id)) known.set(message.id, factOf(message))
      const ids = new Set(entries.map(({ id }) => id))
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
    } else if (newest !== undefined && known.has(newest) && !isKnown(newest)) {
      await this.#settled(() => isKnown(newest))
    }
    return known
  }

  /**
   * Called when events may have been lost. The next request then reads all facts from OpenCode. A beta of OpenCode 2
   * cannot return them, so with a beta, the known facts stay.
   */
  forgetAll(): void {
    if (this.#session.context) this.#sessions.clear()
  }

  forget(session: string): void {
    if (this.#session.context) this.#sessions.delete(session)
  }

  #known(session: string): Map<string, Fact> {
    const known = this.#sessions.get(session) ?? new Map<string, Fact>()
    this.#sessions.delete(session)
    this.#sessions.set(session, known)
    trim(this.#sessions, remembered)
    return known
  }

  async #settled(isDone: () => boolean): Promise<void> {
    let wake = () => {}
    const done = new Promise<void>((resolve) => (wake = () => isDone() && resolve()))
    this.#waiting.add(wake)
    await within(eventMS, done)
    this.#waiting.delete(wake)
  }
}

/**
 * True if a fact is complete. If the event for an answer's start was lost, the fact lacks `created`. If the event for
 * its end was lost, the fact lacks the completion time. A missing completion time matters only for the newest answer,
 * because all others have surely ended.
 */
function isSettled(fact: Fact | undefined, isNewest: boolean): boolean {
  if (!fact?.type) return false
  if (fact.type !== "assistant") return true
  return fact.created !== undefined && (!isNewest || fact.completed !== undefined || fact.error !== undefined)
}

export function trim(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) break
    map.delete(key)
  }
}

/** Returns the list in an answer of OpenCode. In the betas, the list is in the member `data`. */
export function listOf<T>(answer: readonly T[] | { data?: readonly T[] } | undefined): readonly T[] {
  if (Array.isArray(answer)) return answer as readonly T[]
  return (answer as { data?: readonly T[] } | undefined)?.data ?? []
}

export function factOf({ type, time, agent, model, finish, tokens, error, text }: StoredMessage): Fact {
  return inOrder({
    type,
    created: time.created,
    ...(time.completed !== undefined && { completed: time.completed }),
    ...(agent && type === "assistant" && { agent }),
    ...(model && named(model)),
    ...(finish && { finish }),
    ...(tokens && { tokens: usage(tokens) }),
    ...(error && { error: { type: error.type } }),
    ...(text !== undefined && type === "user" && { text }),
  })
}

/** Puts the members into a fixed order, because the shim would see another order as a change of the message. */
function inOrder({ type, created, completed, agent, providerID, modelID, finish, tokens, error, text }: Fact): Fact {
  const all = { type, created, completed, agent, providerID, modelID, finish, tokens, error, text }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function named({ providerID, id }: ModelRef): { providerID: string; modelID: string } {
  return { providerID, modelID: id }
}

function usage({ input, output, cache: { read, write } }: Tokens): Tokens {
  return { input, output, cache: { read, write } }
}
