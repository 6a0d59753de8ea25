import type { WireMutation } from "./generated/protocol.ts"
import { fitting } from "./fitting.ts"
import type { LastArray } from "./last.ts"
import { kept, type Applied, type InPlace, type Kept, type MessageKey } from "./mutation.ts"
import { compile, PatchError, plan, write, type CompiledPatch, type Write } from "./patch.ts"
import { clone } from "./projection.ts"

/**
 * The writes that are known before the answer comes: plans[i] holds the writes of inPlace[i] for message start + i.
 * The applier makes them only when the answer has arrived, because a host that has forgotten the session asks for the
 * unchanged array.
 */
export interface Draft {
  readonly start: number
  readonly inPlace: InPlace
  readonly plans: Plans
}

/** The writes to consecutive messages. An entry is undefined if the patch does not fit its message. */
type Plans = ReadonlyArray<readonly Write[] | undefined>

const noDraft: Draft = { start: 0, inPlace: [], plans: [] }
const noWrites: readonly Write[] = []

/**
 * Turns the arrays of one session into the wire. It holds the head and the patches between passes. If it refuses an
 * answer, both the array and this state stay as they were.
 */
export class MutationApplier {
  private state: Applied | undefined
  private readonly key: MessageKey

  constructor(key: MessageKey) {
    this.key = key
  }

  /** The head's messages, which the newest wire begins with, as the host sent them. */
  get head(): readonly unknown[] {
    return this.state?.head ?? []
  }

  /**
   * Plans as much of the wire as possible before the answer arrives. The first `keep` messages are the same as in the
   * last good array, and few answers change them.
   */
  draft(messages: readonly unknown[], keep: number): Draft {
    if (!this.state) return noDraft
    const { start, inPlace } = this.state
    const plans: Array<readonly Write[] | undefined> = []
    for (let i = start; i < keep; i++) plans.push(planned(messages[i], inPlace[i - start]))
    return { start, inPlace, plans }
  }

  /**
   * Applies the answer to a pass over messages, in place. The answer to a resync describes the whole array. A message
   * stays raw if its patch does not fit. The result is the number of such messages. Throws if the answer as a whole
   * is invalid.
   */
  apply(messages: unknown[], mutation: WireMutation, resync: boolean, draft = noDraft): number {
    const usable = resync ? noDraft : draft
    const next = this.next(messages, mutation, resync, usable)
    const unfit = render(messages, next, usable)
    this.commit(next)
    return unfit
  }

  /** Takes over the state from the answer to a pass whose wire is not needed. The next answer builds on this state. */
  learn(messages: readonly unknown[], mutation: WireMutation): void {
    this.commit(this.next(messages, mutation, false, noDraft))
  }

  /**
   * Applies the last good mutation to messages, in place, for a pass that got no answer. It uses only the patches
   * that still fit. To find these, it compares messages with last, the array that the patches were made for. Returns
   * how many patched messages stay raw; undefined if no part of the mutation can be used.
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
   * Returns the patches of the messages from start on. It reuses those of a draft, unless the answer changes messages
   * other than the new ones.
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

/** New patches by the key of their message; undefined for a message that lost its patch. */
type Changes = ReadonlyMap<string, CompiledPatch | undefined>

/** The state after an answer, before the changes to its patches are made. */
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
 * Turns messages into the wire, in place. If the draft was made with the same patch for a message, it uses the
 * planned writes. Returns the number of messages whose patch does not fit. These stay raw.
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
