import type { Instance } from "./instance.ts"
import type { BeforeCompact, BeforeCompactResult, CompactFailed, Context, Entry } from "./pi.ts"

/**
 * magicctx frees space itself. So if Pi starts a compaction because of the prompt's size, beforeCompact cancels it. It
 * does not cancel a compaction that the user asks for.
 *
 * Pi also starts a compaction if a provider has refused a prompt as too long. If beforeCompact cancelled it, the turn
 * would end with an error. If Pi ran it, a summary would replace the history. So beforeCompact returns a compaction
 * that keeps every entry. Pi then retries the turn, and the retry's pass frees space, because the host knows of the
 * refusal. If the provider refuses the retry, too, Pi's own compaction runs.
 */
export function beforeCompact(instance: Instance, event: BeforeCompact, ctx: Context): BeforeCompactResult | undefined {
  if (!instance.enabled || instance.isInTrouble) return undefined
  const session = ctx.sessionManager.getSessionId()
  switch (event.reason ?? reasonOf(event, ctx)) {
    case "threshold":
      // Pi 0.74 writes "Auto-compaction cancelled" after this handler, and sends no event, so a timer replaces the
      // line. Pi 0.74 does not report its mode, so with a terminal as stdout the mode is assumed to be "tui".
      if (event.reason === undefined && process.stdout.isTTY) setTimeout(() => replaceCancelled(instance))
      return { cancel: true }
    case "overflow":
      return instance.recovering.has(session) ? undefined : keepAll(instance, session, event)
    default:
      return undefined
  }
}

/** From 0.87 on, Pi sends this event right after the line "Auto-compaction cancelled", and waits for this handler. */
export function compactFailed(instance: Instance, { reason, aborted }: CompactFailed, { mode }: Context): void {
  if (!instance.enabled || instance.isInTrouble || reason !== "threshold" || !aborted || mode !== "tui") return
  replaceCancelled(instance)
}

/**
 * After each turn above its threshold, Pi writes the line "Auto-compaction cancelled". If Pi has written nothing after
 * this line, a notice of the kind "info" takes its place.
 */
function replaceCancelled(instance: Instance): void {
  instance.screen.notify(instance.hasExplainedCompaction ? "" : "magicctx keeps this session within its window, so Pi does not have to compact it.", "info")
  instance.hasExplainedCompaction = true
}

function keepAll(instance: Instance, session: string, { branchEntries, preparation }: BeforeCompact): BeforeCompactResult | undefined {
  const at = branchEntries.findLastIndex(isCompaction)
  const last = branchEntries[at] as Compaction | undefined
  const kept = last ? branchEntries.slice(0, at).find(({ id }) => id === last.firstKeptEntryId) : undefined
  const first = kept ?? branchEntries.slice(at + 1).find(({ type }) => inContext.has(type))
  if (!first) return undefined
  instance.recovering.add(session)
  // Pi finds the entry of a compaction by its summary, so no two summaries of a session may be equal.
  const note = `${opening} (entry ${branchEntries.at(-1)!.id}). The conversation follows, with spent tool output left out by magicctx.`
  const earlier = last && !last.summary.startsWith(opening) ? `${last.summary.split(`\n\n${opening}`)[0]}\n\n` : ""
  return { compaction: { summary: earlier + note, firstKeptEntryId: first.id, tokensBefore: preparation.tokensBefore } }
}

const opening = "The provider refused a prompt as too long, and nothing was summarised"

/** These entries become messages of the prompt. */
const inContext = new Set(["message", "custom_message", "branch_summary"])

type Compaction = Entry & { summary: string; firstKeptEntryId: string }

function isCompaction(entry: Entry): entry is Compaction {
  return entry.type === "compaction"
}

/** Before 0.87, Pi does not report why it compacts. */
function reasonOf({ preparation, branchEntries }: BeforeCompact, { model }: Context): BeforeCompact["reason"] {
  const last = branchEntries.findLast(isAnswer)
  if (last?.message.stopReason === "error" && tooLong.test(last.message.errorMessage ?? "")) return "overflow"
  const window = model?.contextWindow ?? 0
  return window > 0 && preparation.tokensBefore > window - preparation.settings.reserveTokens ? "threshold" : "manual"
}

type Answer = Entry & { message: { role: "assistant"; stopReason?: string; errorMessage?: string } }

function isAnswer(entry: Entry): entry is Answer {
  return entry.type === "message" && (entry as Partial<Answer>).message?.role === "assistant"
}

/** Words with which providers refuse a prompt as too long. The host has a better list, but this shim does not ask it. */
const tooLong = /too (long|large)|context.?(length|window)|maximum context|exceeds? (the )?(limit|maximum|context)|token limit|too many tokens/i
