import { Method, type Handlers, type MessageSendParams, type SessionStatus, type Turns } from "@magicctx/shim-core"
import { limits } from "./limits.ts"
import type { Open } from "./pi.ts"
import { join } from "./steps.ts"
import type { Screen } from "./ui.ts"

/** The name under which Pi stores the host's messages. */
export const customType = "magicctx"

/** The part of an instance that answers need. */
interface Owner {
  readonly open: Open | undefined
  readonly screen: Screen
  readonly turns: Turns
  changed(status: SessionStatus): void
}

/** Answers the host's requests to one instance. */
export function handlers(of: () => Owner): Handlers {
  /** Stores a message of the host as soon as no turn of the session runs. */
  const store = (message: MessageSendParams, signal: AbortSignal) => {
    const { session, text, reply, ignored } = message
    const { turns, screen } = of()
    const send = async () => {
      const { open } = of()
      if (open?.session !== session) throw new Error(`session ${session} is not open`)
      // The model reads every message that Pi stores, so one that it must not read is only shown.
      if (ignored) screen.notify(text, "info")
      // No turn runs, so Pi stores the message at once. Without a display the user does not see it.
      else open.pi.sendMessage({ customType, content: text, display: false, details: undefined }, reply ? { triggerTurn: true } : { deliverAs: "steer" })
    }
    return turns.whenIdle(session, send, signal)
  }

  return {
    async [Method.ModelLimits]({ model }) {
      const { open } = of()
      return limits(open?.ctx.modelRegistry.find(model.provider, model.id) ?? same(open?.ctx.model, model))
    },

    async [Method.NotifyShow]({ message, variant }) {
      of().screen.notify(message, variant === "success" ? "info" : variant)
      return {}
    },

    async [Method.MessageSend](message, signal) {
      await store(message, signal)
      return {}
    },

    async [Method.HistoryRead]({ session, limit }) {
      const { open } = of()
      if (open?.session !== session) throw new Error(`session ${session} is not open`)
      const messages = open.ctx.sessionManager.getBranch().flatMap((entry) => ("message" in entry ? [entry.message as never] : []))
      const steps = join(messages)
      return { messages: limit ? steps.slice(-limit) : steps }
    },

    [Method.SessionChanged]: (status) => of().changed(status),
  }
}

/** Returns the model itself if it has that name. A session may use a model that Pi's catalogue does not find. */
function same<M extends { provider: string; id: string }>(model: M | undefined, { provider, id }: { provider: string; id: string }): M | undefined {
  return model?.provider === provider && model.id === id ? model : undefined
}
