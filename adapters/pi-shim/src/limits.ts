import type { ModelLimits } from "@magicctx/shim-core"
import type { Model } from "./pi.ts"

/** A model of Pi's catalogue as the host reads it. */
export function limits(model: Model | undefined): ModelLimits {
  if (!model) return {}
  const { contextWindow, maxTokens, cost, api } = model
  const found: ModelLimits = { contextTokens: contextWindow ?? 0, outputTokens: maxTokens ?? 0 }
  if (cost) found.price = { fresh: cost.input ?? 0, write: cost.cacheWrite ?? 0, read: cost.cacheRead ?? 0, output: cost.output ?? 0 }
  if (api) found.npm = api
  return found
}

/** The name of a model in the protocol; undefined if Pi has none yet. */
export function nameOf(model: Model | undefined): { provider: string; id: string } | undefined {
  return model && { provider: model.provider, id: model.id }
}
