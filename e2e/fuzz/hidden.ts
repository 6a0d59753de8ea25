import type { StoredMessage } from "../../adapters/opencode-shim/src/v2/opencode2.ts"
import { Entry } from "./entries.ts"
import type { OpenCode2 } from "./opencode2.ts"

interface HiddenSession {
  id: string
  model: { providerID: string; id: string }
  messages: StoredMessage[]
  isInterrupted: boolean
  end: Promise<void>
  ended: () => void
}

/** The sessions that the plugin creates for hidden agents, and must remove. */
export class Hidden {
  private readonly sessions = new Map<string, HiddenSession>()
  private readonly opencode: OpenCode2

  constructor(opencode: OpenCode2) {
    this.opencode = opencode
  }

  stored(id: string): StoredMessage[] | undefined {
    return this.sessions.get(id)?.messages
  }

  get left(): number {
    return this.sessions.size
  }

  /** The members of the plugin's interface that make sessions. */
  get calls(): object {
    const { world, isBeta } = this.opencode
    return {
      create: async ({ model, ...input }: { model?: HiddenSession["model"]; parentID?: string; permissions?: object[]; title?: string }) => {
        if (input.parentID !== undefined) world.find("hidden", "a hidden session has a parent, whose turn its end would start")
        if (JSON.stringify(input.permissions) !== '[{"action":"*","resource":"*","effect":"deny"}]') world.find("hidden", "a hidden session may use tools")
        const id = world.ids.next("ses")
        let ended = () => {}
        const end = new Promise<void>((resolve) => (ended = resolve))
        this.sessions.set(id, { id, model: model ?? { providerID: "none", id: "none" }, messages: [], isInterrupted: false, end, ended })
        this.opencode.emit("session.created", { sessionID: id, title: input.title ?? "" })
        return { id }
      },
      prompt: async ({ sessionID, text }: { sessionID: string; text: string }) => {
        const session = this.sessions.get(sessionID)
        if (!session) throw new Error("no such session")
        void this.run(session, text).catch((err) => world.find("hidden", String(err)))
        return {}
      },
      interrupt: async ({ sessionID }: { sessionID: string }) => {
        const session = this.sessions.get(sessionID)
        if (!session) return
        session.isInterrupted = true
        this.opencode.emit("session.execution.interrupted", { sessionID })
        session.ended()
      },
      ...(!isBeta && {
        wait: async ({ sessionID }: { sessionID: string }) => this.sessions.get(sessionID)?.end,
        remove: async ({ sessionID }: { sessionID: string }) => {
          if (!this.sessions.delete(sessionID)) throw new Error("no such session")
          this.opencode.emit("session.deleted", { sessionID })
        },
      }),
    }
  }

  private async run(session: HiddenSession, text: string): Promise<void> {
    const { opencode } = this
    const { world } = opencode
    const { id: sessionID, model } = session
    const prompt = new Entry({ id: world.ids.next("msg"), role: "user", content: [{ type: "text", text }], metadata: {} })
    const event = { sessionID, agent: "build", model, system: [{ type: "text", text: "You are OpenCode." }, { type: "text", text: "Here." }], messages: [prompt], tools: { read: {}, shell: {} }, options: { maxTokens: 2000 } }
    opencode.emit("session.execution.started", { sessionID })
    await opencode.call("context", event)
    // A plugin that was unloaded meanwhile cannot change the request.
    if (opencode.isLoaded) {
      if (event.messages.length !== 1 || event.messages[0] !== prompt) world.find("hidden", "the prompt of a hidden agent was changed")
      if (Object.keys(event.tools).length > 0) world.find("hidden", "a hidden agent has tools")
      if (event.system.length !== 1 || event.system[0]!.text === "You are OpenCode.") world.find("hidden", "a hidden agent has OpenCode's system prompt")
      const title = { sessionID, model, messages: [prompt], system: [], options: {} } as { result?: string }
      await opencode.call("title", title)
      if (title.result === undefined && !opencode.isBeta) world.find("hidden", "OpenCode asks a model for the title of a hidden session")
    }
    const id = world.ids.next("msg")
    const { text: answer, error: failure, waitMS } = world.summarise(text)
    const created = world.machine.now()
    opencode.emit("session.step.started", { sessionID, assistantMessageID: id, model }, created)
    if (waitMS > 0) await new Promise((resolve) => setTimeout(resolve, waitMS))
    if (session.isInterrupted) return
    const completed = world.machine.now()
    const usage = { input: 1000, output: 200, cache: { read: 0, write: 0 } }
    const error = failure ? { type: "provider.internal", message: failure, status: Number.parseInt(failure) || 400 } : undefined
    session.messages.push({ id, type: "assistant", time: { created, completed }, model, ...(error ? { error } : { finish: "stop", tokens: usage, content: [{ type: "text", text: answer }] }) })
    if (error) opencode.emit("session.step.failed", { sessionID, assistantMessageID: id, error })
    else {
      opencode.emit("session.text.ended", { sessionID, assistantMessageID: id, text: answer })
      opencode.emit("session.step.ended", { sessionID, assistantMessageID: id, finish: "stop", tokens: usage }, completed)
    }
    opencode.emit(error ? "session.execution.failed" : "session.execution.succeeded", { sessionID, ...(error && { error }) })
    session.ended()
  }
}
