import type { Instance } from "./instance.ts"
import type { BeforeCompact, BeforeCompactResult, CompactFailed, Context, Entry } from "./pi.ts"

/**
 * Decides about Pi's own compaction. While magicctx works, it frees space itself. So the shim cancels a compaction that
 * Pi starts because of the size, but not one that the user asks for.
 *
 * Pi also compacts if the provider has refused a prompt as too long. If the shim cancelled this compaction, the turn
 * would end with an error. If the shim did nothing, Pi would replace the history with a summary. So the shim gives Pi a
 * compaction that keeps every entry. Then Pi retries the turn, and the host, which knows of the refusal, makes room in
 * the pass of that retry. If the retry is refused as well, Pi compacts as it would without us.
 */
export function beforeCompact(instance: Instance, event: BeforeCompact, ctx: Context): BeforeCompactResult | undefined {
  if (!instance.enabled || instance.isInTrouble) return undefined
  const session = ctx.sessionManager.getSessionId()
  switch (event.reason ?? reasonOf(event, ctx)) {
    case "threshold":
      // Pi 0.74 writes "Auto-compaction cancelled" as soon as this handler has returned, and sends no event about it.
      // This version does not name its mode either. If the output is a terminal, the shim assumes the mode "tui".
      if (event.reason === undefined && process.stdout.isTTY) setTimeout(() => replaceCancelled(instance))
      return { cancel: true }
    case "overflow":
      return instance.recovering.has(session) ? undefined : keepAll(instance, session, event)
    default:
      return undefined
  }
}

/** Pi sends this event right after the line "Auto-compaction cancelled", and waits. Pi 0.74 does not send it. */
export function compactFailed(instance: Instance, { reason, aborted }: CompactFailed, { mode }: Context): void {
  if (!instance.enabled || instance.isInTrouble || reason !== "threshold" || !aborted || mode !== "tui") return
  replaceCancelled(instance)
}

/**
 * Replaces the line "Auto-compaction cancelled", which Pi writes after each turn above its threshold. A notice of the
 * kind "info" takes the place of Pi's newest status line if nothing follows that line.
 */
function replaceCancelled(instance: Instance): void {
  instance.screen.notify(instance.hasExplainedCompaction ? "" : "magicctx keeps this session within its window, so Pi does not have to compact it.", "info")
  instance.hasExplainedCompaction = true
}

/** A compaction that hides nothing from the model. */
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

/** The entries that become messages of the prompt. */
const inContext = new Set(["message", "custom_message", "branch_summary"])

type Compaction = Entry & { summary: string; firstKeptEntryId: string }

function isCompaction(entry: Entry): entry is Compaction {
  return entry.type === "compaction"
}

/** Finds out why a version before 0.87 compacts, because such a version does not say why. */
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
 * The words with which providers refuse a prompt as too long. The host has a better list, but the shim does not ask the
 * host here.
 */
const tooLong = /too (long|large)|context.?(length|window)|maximum context|exceeds? (the )?(limit|maximum|context)|token limit|too many tokens/i
