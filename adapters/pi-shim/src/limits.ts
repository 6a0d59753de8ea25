import type { ModelLimits } from "@magicctx/shim-core"
import type { Model } from "./pi.ts"

export function limits(model: Model | undefined): ModelLimits {
  if (!model) return {}
  const { contextWindow, maxTokens, cost, api } = model
  const found: ModelLimits = { contextTokens: contextWindow ?? 0, outputTokens: maxTokens ?? 0 }
  if (cost) found.price = { fresh: cost.input ?? 0, write: cost.cacheWrite ?? 0, read: cost.cacheRead ?? 0, output: cost.output ?? 0 }
  if (api) found.npm = api
  return found
}

/** Undefined if Pi has no model yet. */
export function nameOf(model: Model | undefined): { provider: string; id: string } | undefined {
  return model && { provider: model.provider, id: model.id }
}
