import type { WireMutation } from "./generated/protocol.ts"
import { fitting } from "./fitting.ts"
import type { LastArray } from "./last.ts"
import { kept, type Applied, type InPlace, type Kept, type MessageKey } from "./mutation.ts"
import { compile, PatchError, plan, write, type CompiledPatch, type Write } from "./patch.ts"
import { clone } from "./projection.ts"

/**
 * The writes that the applier plans while the host works: `plans[i]` contains the writes of the patch `inPlace[i]` to
 * the message with the index `start + i`. The applier makes the writes only after the answer, because a host that has
 * forgotten the session asks for the unchanged array.
 */
export interface Draft {
  readonly start: number
  readonly inPlace: InPlace
  readonly plans: Plans
}

/** The writes to consecutive messages. If a patch does not fit its message, its entry is undefined. */
type Plans = ReadonlyArray<readonly Write[] | undefined>

const noDraft: Draft = { start: 0, inPlace: [], plans: [] }
const noWrites: readonly Write[] = []

/**
 * Turns the arrays of one session into the wire. Between passes, it stores the head and the patches. If an answer of
 * the host is invalid, neither the array nor the stored state changes.
 */
export class MutationApplier {
  private state: Applied | undefined
  private readonly key: MessageKey

  constructor(key: MessageKey) {
    this.key = key
  }

  /** The messages of the head as the host sent them. The newest wire begins with these messages. */
  get head(): readonly unknown[] {
    return this.state?.head ?? []
  }

  /**
   * Plans writes while the host works on its answer. The plans for the first `keep` messages are almost always right,
   * because these messages are the same as in the last good array, and few answers contain new patches for them.
   */
  draft(messages: readonly unknown[], keep: number): Draft {
    if (!this.state) return noDraft
    const { start, inPlace } = this.state
    const plans: Array<readonly Write[] | undefined> = []
    for (let i = start; i < keep; i++) plans.push(planned(messages[i], inPlace[i - start]))
    return { start, inPlace, plans }
  }

  /**
   * Turns messages into the wire with the host's answer. The answer to a resync describes the whole array. Any other
   * answer describes only changes. If a patch does not fit its message, the message stays unchanged. Returns the number
   * of messages whose patch does not fit. Throws if the answer is invalid.
   */
  apply(messages: unknown[], mutation: WireMutation, resync: boolean, draft = noDraft): number {
    const usable = resync ? noDraft : draft
    const next = this.next(messages, mutation, resync, usable)
    const unfit = render(messages, next, usable)
    this.commit(next)
    return unfit
  }

  /** Stores the state of an answer whose wire is not needed. The next answer describes only changes to this state. */
  learn(messages: readonly unknown[], mutation: WireMutation): void {
    this.commit(this.next(messages, mutation, false, noDraft))
  }

  /**
   * If a pass gets no answer, reapply turns messages into a wire with the patches of earlier answers. It compares
   * messages with `last`, the array for which these patches were made, and uses only the patches that still fit.
   * Returns the number of messages whose patch no longer fits; undefined if nothing can be used.
   */
  reapply(messages: unknown[], last: LastArray): number | undefined {
    const still = this.state && fitting(this.state, messages, last, this.key)
    return still && still.unfit + render(messages, still, noDraft)
  }

  private next(messages: readonly unknown[], mutation: WireMutation, resync: boolean, draft: Draft): Next {
    const { start, headCleared, pinned = [] } = mutation
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
      pinned,
      kept: kept(messages, start, pinned, this.key, (name) => (changed.has(name) ? changed.get(name) : patches.get(name))),
      inPlace: this.inPlace(messages, start, patches, changed, draft),
    }
  }

  /**
   * Returns the patches of the messages from start on. If the answer changes only new messages, the patches of the
   * draft are used again.
   */
  private inPlace(messages: readonly unknown[], start: number, patches: Applied["patches"], changed: Changes, draft: Draft): InPlace {
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

  private commit({ changed, kept: _, ...state }: Next): void {
    for (const [key, patch] of changed) {
      if (patch) state.patches.set(key, patch)
      else state.patches.delete(key)
    }
    this.state = state
  }
}

/**
 * The new patches in an answer, by the key of their message. The value is undefined for a message that no longer has a
 * patch.
 */
type Changes = ReadonlyMap<string, CompiledPatch | undefined>

/**
 * The state that an answer leads to. `commit` stores it, and only then adds the `changed` patches to `patches`. So if
 * the answer turns out to be invalid, the old state is still complete.
 */
interface Next extends Applied {
  changed: Changes
  kept: readonly Kept[]
}

function compiled({ edits, cleared }: WireMutation): Changes {
  const changes = new Map<string, CompiledPatch | undefined>()
  for (const key of cleared ?? []) changes.set(key, undefined)
  for (const [key, patch] of Object.entries(edits ?? {})) changes.set(key, compile(patch))
  return changes
}

/**
 * Turns messages into the wire. If a message has the same patch as in the draft, render uses the planned writes. If a
 * patch does not fit its message, the message stays unchanged. Returns the number of messages whose patch does not fit.
 */
function render(messages: unknown[], { head, start, inPlace, kept }: Pick<Next, "head" | "start" | "inPlace" | "kept">, draft: Draft): number {
  const drafted = start === draft.start ? draft.plans.length : 0
  const plans: Array<readonly Write[]> = []
  let unfit = 0
  for (let i = 0; i < inPlace.length; i++) {
    const isDrafted = i < drafted && inPlace[i] === draft.inPlace[i]
    const plan = isDrafted ? draft.plans[i] : planned(messages[start + i], inPlace[i])
    if (!plan) unfit++
    plans.push(plan ?? noWrites)
  }
  for (const { at, patch } of kept) {
    const plan = planned(messages[at], patch)
    if (!plan) unfit++
    plans.push(plan ?? noWrites)
  }
  unfit += write(plans).length
  // The head is cloned, because other plugins may write into the array's messages.
  messages.splice(0, start, ...head.map(clone), ...kept.map(({ at }) => messages[at]))
  return unfit
}

function planned(message: unknown, patch: CompiledPatch | undefined): readonly Write[] | undefined {
  if (!patch) return noWrites
  try {
    return plan(message, patch)
  } catch (err) {
    if (err instanceof PatchError) return undefined
    throw err
  }
}
