import { asError, Method, type Handlers, type MessageSendParams, type ModelLimits } from "@magicctx/shim-core"
import type { Client, PromptBody, Provider } from "./opencode.ts"
import type { Sessions } from "./sessions.ts"

/** Answers the host's requests to one plugin instance. */
export function handlers(client: Client, sessions: Sessions): Handlers {
  let providers: Promise<Provider[]> | undefined

  /** Stores a message of the host as soon as no turn of the session runs. */
  const store = (message: MessageSendParams, signal: AbortSignal) => {
    const { session, text, reply, ignored } = message
    const send = async () => {
      const path = { id: session }
      const { agent, model } = sessions.lastConversation(session)
      const body: PromptBody = { noReply: !reply, parts: [{ type: "text", text, ignored, synthetic: ignored }] }
      // The message becomes the newest user message, and the newest user message decides which agent and model run the
      // next turn.
      if (agent) body.agent = agent
      if (model) {
        body.model = { providerID: model.providerID, modelID: model.modelID }
        if (model.variant) body.variant = model.variant
      }
      if (reply) await data(client.session.promptAsync({ path, body }))
      else await sessions.store(session, text, async () => void (await data(client.session.prompt({ path, body }))))
    }
    return sessions.whenIdle(session, send, signal)
  }

  return {
    async [Method.ModelLimits]({ model }) {
      // This asks for the whole catalogue, because OpenCode has no smaller question.
      providers ??= data(client.config.providers()).then((catalogue) => catalogue.providers)
      try {
        return modelLimits(await providers, model.provider, model.id)
      } catch (err) {
        providers = undefined
        throw err
      }
    },

    async [Method.NotifyShow]({ title, message, variant }) {
      await data(client.tui.showToast({ body: { ...(title && { title }), message, variant } }))
      return {}
    },

    async [Method.MessageSend](message, signal) {
      await store(message, signal)
      return {}
    },

    async [Method.HistoryRead]({ session, limit }) {
      return { messages: await data(client.session.messages({ path: { id: session }, query: limit ? { limit } : {} })) }
    },
  }
}

/** Returns the payload of a client answer, or throws. The client resolves even if the request failed. */
export async function data<T>(response: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await response
  if (error !== undefined) throw error instanceof Error ? error : asError(JSON.stringify(error))
  return data as T
}

function modelLimits(providers: readonly Provider[], providerID: string, modelID: string): ModelLimits {
  const model = providers.find((provider) => provider.id === providerID)?.models[modelID]
  if (!model) return {}
  const { limit, cost, api } = model
  const limits: ModelLimits = {
    contextTokens: limit?.context ?? 0,
    inputTokens: limit?.input ?? 0,
    outputTokens: limit?.output ?? 0,
  }
  if (cost) {
    limits.price = { fresh: cost.input ?? 0, write: cost.cache?.write ?? 0, read: cost.cache?.read ?? 0, output: cost.output ?? 0 }
  }
  if (api?.npm) limits.npm = api.npm
  return limits
}
