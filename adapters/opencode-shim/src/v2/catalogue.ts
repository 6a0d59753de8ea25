import { Method, type Handlers, type ModelLimits } from "@magicctx/shim-core"
import { listOf } from "./facts.ts"
import type { CatalogueModel, CatalogueProvider, ModelRef, PluginContext } from "./opencode2.ts"

export class Catalogue {
  readonly handlers: Pick<Handlers, typeof Method.ModelLimits> = {
    [Method.ModelLimits]: async ({ model }) => this.limits({ providerID: model.provider, id: model.id }),
  }
  private readonly ctx: PluginContext

  constructor(ctx: PluginContext) {
    this.ctx = ctx
  }

  /** Finds a model in OpenCode's catalogue. Returns undefined if OpenCode does not list the model. */
  async model({ providerID, id }: ModelRef): Promise<CatalogueModel | undefined> {
    const models = this.ctx.model ?? this.ctx.catalog?.model
    return listOf(await models?.list()).find((model) => model.providerID === providerID && model.id === id)
  }

  private async limits(ref: ModelRef): Promise<ModelLimits> {
    const model = await this.model(ref)
    if (!model) return {}
    const { limit } = model
    const limits: ModelLimits = { contextTokens: limit?.context ?? 0, inputTokens: limit?.input ?? 0, outputTokens: limit?.output ?? 0 }
    // A price with a tier applies only to long prompts, so the usual price is the one without a tier.
    const cost = model.cost?.find(({ tier }) => tier === undefined)
    if (cost) limits.price = { fresh: cost.input ?? 0, write: cost.cache?.write ?? 0, read: cost.cache?.read ?? 0, output: cost.output ?? 0 }
    const name = (model.package ?? (await this.provider(ref.providerID))?.package)?.replace(/^[a-z]+:/, "")
    if (name) limits.npm = name
    return limits
  }

  private async provider(id: string): Promise<CatalogueProvider | undefined> {
    const providers = this.ctx.provider ?? this.ctx.catalog?.provider
    return listOf(await providers?.list()).find((provider) => provider.id === id)
  }
}
