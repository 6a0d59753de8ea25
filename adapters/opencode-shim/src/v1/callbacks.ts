import { asError, Method, type Handlers, type ModelLimits } from "@magicctx/shim-core"
import type { Client, PromptBody, Provider } from "./opencode.ts"
import { noticeMS } from "../notices.ts"
import type { Sessions } from "./sessions.ts"

export function handlers(client: Client): Handlers {
  let providers: Promise<Provider[]> | undefined

  return {
    async [Method.ModelLimits]({ model }) {
      // OpenCode's API cannot look up a single model, so the shim reads the whole catalogue once and keeps it.
      providers ??= data(client.config.providers()).then((catalogue) => catalogue.providers)
      try {
        return modelLimits(await providers, model.provider, model.id)
      } catch (err) {
        providers = undefined
        throw err
      }
    },

    async [Method.NotifyShow]({ title, message, variant }) {
      await data(client.tui.showToast({ body: { ...(title && { title }), message, variant, duration: noticeMS(message) } }))
      return {}
    },
  }
}

/**
 * Waits until no turn of the session runs, then stores a text for the user. The text is `ignored`, so the model does
 * not receive it. It is not `synthetic`, because OpenCode's screen hides synthetic texts.
 */
export async function store(client: Client, sessions: Sessions, session: string, text: string, signal: AbortSignal): Promise<void> {
  const send = async () => {
    const { agent, model } = sessions.lastConversation(session)
    const body: PromptBody = { noReply: true, parts: [{ type: "text", text, ignored: true }] }
    // OpenCode stores the text as a user message, and takes the agent and the model of the next turn from the newest
    // user message. So the text gets the agent and the model of the last prompt.
    if (agent) body.agent = agent
    if (model) {
      body.model = { providerID: model.providerID, modelID: model.modelID }
      if (model.variant) body.variant = model.variant
    }
    await sessions.store(session, text, async () => void (await data(client.session.prompt({ path: { id: session }, body }))))
  }
  // OpenCode makes a title only while the session has exactly one user message. The text would be a second one, so it
  // must not be stored before the title exists.
  await sessions.whenIdle(session, async () => {}, signal)
  if (await sessions.isUntitled(session)) throw new Error("OpenCode has not made a title for the session yet")
  await sessions.whenIdle(session, send, signal)
}

/**
 * Returns the data of a response, or throws its error. This is necessary because the client resolves even if the
 * request has failed.
 */
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
