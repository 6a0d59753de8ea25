import type { Instance } from "./instance.ts"
import type { BeforeCompact, BeforeCompactResult, CompactFailed, Context, Entry } from "./pi.ts"

/**
 * While magicctx works, it frees space itself. So the shim cancels a compaction that Pi starts because of the size,
 * but not one that the user asks for.
 *
 * Pi also compacts after a provider has refused a prompt as too long. A cancelled compaction would then end the turn
 * with an error, and Pi's own would replace the history with a summary. So the shim gives Pi a compaction that keeps
 * every entry. Pi then retries the turn, and the pass of that retry makes room, because the host knows of the
 * refusal. If the provider refuses the retry, too, Pi compacts as it would without us.
 */
export function beforeCompact(instance: Instance, event: BeforeCompact, ctx: Context): BeforeCompactResult | undefined {
  if (!instance.enabled || instance.isInTrouble) return undefined
  const session = ctx.sessionManager.getSessionId()
  switch (event.reason ?? reasonOf(event, ctx)) {
    case "threshold":
      // Pi 0.74 writes "Auto-compaction cancelled" directly after this handler, and sends no event. It does not name
      // its mode either, so a terminal as output counts as the mode "tui".
      if (event.reason === undefined && process.stdout.isTTY) setTimeout(() => replaceCancelled(instance))
      return { cancel: true }
    case "overflow":
      return instance.recovering.has(session) ? undefined : keepAll(instance, session, event)
    default:
      return undefined
  }
}

/** Pi sends this event, which 0.74 lacks, right after the line "Auto-compaction cancelled", and waits. */
export function compactFailed(instance: Instance, { reason, aborted }: CompactFailed, { mode }: Context): void {
  if (!instance.enabled || instance.isInTrouble || reason !== "threshold" || !aborted || mode !== "tui") return
  replaceCancelled(instance)
}

/**
 * Pi writes "Auto-compaction cancelled" after each turn above its threshold. If nothing follows that line, a notice
 * of the kind "info" replaces it.
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

/** A version before 0.87 does not say why it compacts. */
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

/**
 * Providers refuse a prompt as too long with these words. The host has a better list, but the shim does not ask the
 * host here.
 */
const tooLong = /too (long|large)|context.?(length|window)|maximum context|exceeds? (the )?(limit|maximum|context)|token limit|too many tokens/i
