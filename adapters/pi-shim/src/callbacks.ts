import { Method, type Handlers, type SessionStatus } from "@magicctx/shim-core"
import { limits } from "./limits.ts"
import type { Open } from "./pi.ts"
import type { Screen } from "./ui.ts"

interface Owner {
  readonly open: Open | undefined
  readonly screen: Screen
  changed(status: SessionStatus): void
}

export function handlers(of: () => Owner): Handlers {
  return {
    async [Method.ModelLimits]({ model }) {
      const { open } = of()
      return limits(open?.ctx.modelRegistry.find(model.provider, model.id) ?? same(open?.ctx.model, model))
    },

    async [Method.NotifyShow]({ message, variant }) {
      of().screen.notify(message, variant === "success" ? "info" : variant)
      return {}
    },

    [Method.SessionChanged]: (status) => of().changed(status),
  }
}

/**
 * Returns the session's current model if it has this provider and id. Otherwise, returns undefined. The caller uses it
 * for models that Pi's catalogue does not contain.
 */
function same<M extends { provider: string; id: string }>(model: M | undefined, { provider, id }: { provider: string; id: string }): M | undefined {
  return model?.provider === provider && model.id === id ? model : undefined
}
