import type { WireMutation } from "./generated/protocol.ts"
import { compile, plan, write, type CompiledPatch, type Write } from "./patch.ts"
import { clone } from "./projection.ts"

/** What the applier must know of a harness's message. */
export type MessageKey = (message: unknown) => string | undefined

/** The patches of messages that follow each other; undefined where there is none. */
type InPlace = ReadonlyArray<CompiledPatch | undefined>

/** How the last good array became the wire. */
interface State {
  head: readonly unknown[]
  patches: Map<string, CompiledPatch>
  /** The number of dropped messages, and the last of them, which is where a later array is cut. */
  start: number
  lastDropped: string | undefined
  /** The patches of the messages from start on, so that none is looked up again for a message that stands. */
  inPlace: InPlace
}

/**
 * The writes to the messages from start on as far as they are known without the
 * answer: those of plans[i] patch by inPlace[i]. They wait for it, because a host
 * that has forgotten the session asks for the array as it was.
 */
export interface Draft {
  readonly start: number
  readonly inPlace: InPlace
  readonly plans: ReadonlyArray<readonly Write[]>
}

const noDraft: Draft = { start: 0, inPlace: [], plans: [] }
const noWrites: readonly Write[] = []

/**
 * Turns the arrays of one session into the wire. It keeps head and patches
 * between passes. A failure leaves the array and what is kept as they were.
 */
export class MutationApplier {
  private state: State | undefined
  private readonly key: MessageKey

  constructor(key: MessageKey) {
    this.key = key
  }

  /**
   * What can be made of the wire while the answer is awaited: the first keep
   * messages are those of the last good array, and few answers change them.
   */
  draft(messages: readonly unknown[], keep: number): Draft {
    if (!this.state) return noDraft
    const { start, inPlace } = this.state
    const plans: Array<readonly Write[]> = []
    for (let i = start; i < keep; i++) plans.push(planned(messages[i], inPlace[i - start]))
    return { start, inPlace, plans }
  }

  /** Applies the answer to a pass over messages, in place. A resync answers with everything. */
  apply(messages: unknown[], mutation: WireMutation, resync: boolean, draft = noDraft): void {
    const usable = resync ? noDraft : draft
    const next = this.next(messages, mutation, resync, usable)
    render(messages, next, usable)
    this.keep(next)
  }

  /** Takes the answer to a pass whose wire nobody needs: the next answer builds on it. */
  learn(messages: readonly unknown[], mutation: WireMutation): void {
    this.keep(this.next(messages, mutation, false, noDraft))
  }

  /**
   * Applies the last good mutation to messages, in place, for a pass that got
   * no answer. Returns whether it did: it does nothing if messages is no longer
   * cut where the last good array was.
   */
  reapply(messages: unknown[]): boolean {
    const { state } = this
    if (!state) return false
    let start = 0
    if (state.lastDropped !== undefined) {
      start = messages.findIndex((message) => this.key(message) === state.lastDropped) + 1
      if (start === 0) return false
    }
    const inPlace = messages.slice(start).map((message) => state.patches.get(this.key(message) ?? ""))
    render(messages, { head: state.head, start, inPlace }, noDraft)
    return true
  }

  private next(messages: readonly unknown[], mutation: WireMutation, resync: boolean, draft: Draft): Next {
    const { start, headCleared } = mutation
    if (!Number.isInteger(start) || start < 0 || start > messages.length) {
      throw new RangeError(`start ${start} of ${messages.length} messages`)
    }
    const from = resync ? undefined : this.state
    const patches = from?.patches ?? new Map<string, CompiledPatch>()
    const changed = compiled(mutation)
    return {
      head: mutation.head?.length ? mutation.head : headCleared ? [] : (from?.head ?? []),
      patches,
      changed,
      start,
      lastDropped: start === 0 ? undefined : this.key(messages[start - 1]),
      inPlace: this.inPlace(messages, start, patches, changed, draft),
    }
  }

  /** The patches of the messages from start on. Those of a draft stand unless the answer is about more than what follows it. */
  private inPlace(messages: readonly unknown[], start: number, patches: State["patches"], changed: Changes, draft: Draft): InPlace {
    const end = draft.start + draft.plans.length
    const about = new Set(changed.keys())
    for (let i = end; i < messages.length && about.size > 0; i++) about.delete(this.key(messages[i]) ?? "")
    const inPlace = about.size === 0 && start === draft.start ? draft.inPlace.slice(0, draft.plans.length) : []
    for (let i = start + inPlace.length; i < messages.length; i++) {
      const key = this.key(messages[i]) ?? ""
      inPlace.push(changed.has(key) ? changed.get(key) : patches.get(key))
    }
    return inPlace
  }

  private keep({ changed, ...state }: Next): void {
    for (const [key, patch] of changed) {
      if (patch) state.patches.set(key, patch)
      else state.patches.delete(key)
    }
    this.state = state
  }
}

/** Patches by the message they are for; undefined where it has none any more. */
type Changes = ReadonlyMap<string, CompiledPatch | undefined>

/** The state after an answer, but for the changes of its patches. */
interface Next extends State {
  changed: Changes
}

function compiled({ edits, cleared }: WireMutation): Changes {
  const changes = new Map<string, CompiledPatch | undefined>()
  for (const key of cleared ?? []) changes.set(key, undefined)
  for (const [key, patch] of Object.entries(edits ?? {})) changes.set(key, compile(patch))
  return changes
}

/** Turns messages into the wire, in place; what the draft planned with the same patch is taken from there. */
function render(messages: unknown[], { head, start, inPlace }: Pick<State, "head" | "start" | "inPlace">, draft: Draft): void {
  const drafted = start === draft.start ? draft.plans.length : 0
  const plans: Array<readonly Write[]> = []
  for (let i = 0; i < inPlace.length; i++) {
    const isDrafted = i < drafted && inPlace[i] === draft.inPlace[i]
    plans.push(isDrafted ? draft.plans[i]! : planned(messages[start + i], inPlace[i]))
  }
  write(plans)
  // Cloned, because other plugins may write into what they find in the array.
  messages.splice(0, start, ...head.map(clone))
}

function planned(message: unknown, patch: CompiledPatch | undefined): readonly Write[] {
  return patch ? plan(message, patch) : noWrites
}
