import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Attempt } from "./judge.ts"

/** The arrays of a request, in the form that e2e/judge reads. */
export interface RealArrays {
  harness: "opencode" | "opencode2"
  raw: unknown[]
  wire: unknown[]
}

/**
 * The function `judge` of e2e/judge/judge.ts, which uses the real converters of the AI SDK. It is undefined if they are
 * not installed.
 */
type Converters = (c: RealArrays & { profile: string; model: { provider: string; id: string }; binds: boolean }) => Promise<{ rule: string; where: string; detail: string }[]>

const converters: Promise<Converters | undefined> = (async () => {
  const path = join(import.meta.dirname, "../judge/judge.ts")
  return existsSync(path) ? ((await import(path)) as { judge: Converters }).judge : undefined
})()

const profiles: Record<string, string> = {
  "@ai-sdk/anthropic": "anthropic", "@ai-sdk/amazon-bedrock": "bedrock", "@ai-sdk/google-vertex/anthropic": "vertex",
  "@ai-sdk/openai": "openai", "@ai-sdk/openai-compatible": "openai-compatible",
}

export async function convertReally({ real, model }: Attempt, report: (rule: string, detail: string) => void): Promise<void> {
  const judge = await converters
  if (!judge || !real) return
  const copy = JSON.parse(JSON.stringify(real)) as RealArrays
  const violations = await judge({ ...copy, profile: profiles[model.npm]!, model: { provider: model.provider, id: model.id }, binds: model.binds })
  for (const { rule, where, detail } of violations) report(`sdk-${rule}`, `${where}: ${detail}`)
}
