import { asError, within } from "@magicctx/shim-core"
import { hiddenRuns } from "./agents.ts"
import type { Instance } from "./instance.ts"
import type { Entry, SessionContext, SystemPart } from "./opencode2.ts"
import { raised } from "./output.ts"
import { Steps } from "./steps.ts"
import { register } from "./tools.ts"

/**
 * The longest time that a pass may take. Calls to the host have shorter deadlines, but OpenCode may never answer the
 * shim.
 */
const hookMS = 60_000

interface Changes {
  messages?: Entry[]
  system?: SystemPart[]
  maxTokens?: number
}

/**
 * Runs a pass, and changes the request only when all changes are known. With only some of the changes, OpenCode may be
 * unable to read the request, and would end the turn without an answer.
 */
export async function context(instance: Instance, event: SessionContext): Promise<void> {
  const changes = await within(hookMS, instance.inOrder(event.sessionID, () => instance.guard("context", () => pass(instance, event))))
  apply(event, changes ?? {})
}

/**
 * Returns true if a hidden agent makes the request. In this case, isHidden also prepares the request: it sets the
 * agent's system prompt, limits the answer, and removes the tools. After the agent's last step, it ends the turn.
 */
export function isHidden(event: SessionContext): boolean {
  const run = hiddenRuns.get(event.sessionID)
  if (!run) return false
  if (--run.left < 0) run.stop()
  event.system = [{ type: "text", text: run.system }]
  event.tools = {}
  if (event.options?.maxTokens) event.options.maxTokens = Math.min(event.options.maxTokens, run.maxOutput)
  return true
}

/**
 * OpenCode sends some requests outside the conversation, only to keep the prefix in the provider's cache. This function
 * makes the changes of the last pass in such a request, so that it begins with the cached prefix.
 */
export async function generate(instance: Instance, event: SessionContext): Promise<void> {
  const changes = await within(hookMS, instance.guard("generate", () => repeat(instance, event)))
  apply(event, changes ?? {})
}

async function pass(instance: Instance, event: SessionContext): Promise<Changes> {
  const { directory, facts, passes, unsent } = instance
  const { sessionID: session, agent } = event
  if (unsent.has(session)) passes.withoutPass(session)
  unsent.add(session)
  const enabled = await instance.ready()
  if (enabled || !instance.isInTrouble) register(instance, enabled)
  const steps = new Steps(event.messages, await facts.of(session, event.messages), agent, facts.asked)
  if (!enabled) {
    if (!instance.isInTrouble) {
      passes.withoutPass(session)
      return {}
    }
    const outcome = await passes.withoutHost(steps.list, session)
    const changes = await system(instance, event)
    return outcome === "reapplied" ? { ...changes, messages: steps.entries() } : changes
  }
  const origin = await instance.origin(session).catch(() => ({}))
  const model = { provider: event.model.providerID, id: event.model.id }
  const outcome = await passes.run(steps.list, { session, directory, ...origin, model }, enabled)
  const changes = await system(instance, event)
  if (outcome === "unchanged") return changes
  const messages = steps.entries()
  const hasRoom = outcome === "applied" && passes.verdict(session) !== "steady"
  const maxTokens = hasRoom ? raised(event, messages, (await instance.catalogue.model(event.model).catch(() => undefined))?.limit) : undefined
  return { ...changes, messages, ...(maxTokens !== undefined && { maxTokens }) }
}

async function repeat(instance: Instance, event: SessionContext): Promise<Changes> {
  const steps = new Steps(event.messages, await instance.facts.of(event.sessionID, event.messages), event.agent, instance.facts.asked)
  const outcome = await instance.passes.repeat(steps.list, event.sessionID)
  const changes = await system(instance, event, false)
  return outcome === "reapplied" ? { ...changes, messages: steps.entries() } : changes
}

/**
 * Returns the host's system prompt. If the host has not changed a part, OpenCode's own object stays in its place, with
 * all its other members.
 */
async function system(instance: Instance, event: SessionContext, isConversation = true): Promise<Changes> {
  const { directory, passes, systems } = instance
  const { sessionID: session, model } = event
  const params = { session, directory, model: { provider: model.providerID, id: model.id }, system: event.system.map(({ text }) => text) }
  const { system: texts, kind, refusal } = await systems.ask(params, isConversation)
  if (isConversation) passes.leavesWith(kind, session)
  if (refusal) instance.log.warn("no system prompt", { session, cause: asError(refusal).message })
  if (!texts) return {}
  return { system: texts.map((text, i) => (event.system[i]?.text === text ? event.system[i] : { ...event.system[i], type: "text", text })) }
}

function apply(event: SessionContext, { messages, system, maxTokens }: Changes): void {
  if (messages && messages.length > 0) event.messages = messages
  if (system && system.length > 0) event.system = system
  if (maxTokens !== undefined && event.options) event.options.maxTokens = maxTokens
}
