/**
 * The part of OpenCode's plugin interface that this shim uses, as in OpenCode 1.18.33. It is declared here, so that the
 * shim needs no package of OpenCode.
 */

export interface Message {
  info: Info
  parts: unknown[]
}

export interface Info {
  id: string
  sessionID: string
  role: "user" | "assistant"
  agent?: string
  /** Only user messages have this member. Assistant messages have `providerID` and `modelID` instead. */
  model?: ModelRef
}

export interface UserMessage {
  id: string
  time: { created: number }
}

export interface ModelRef {
  providerID: string
  modelID: string
  variant?: string
}

export interface Event {
  id?: string
  type: string
  properties: {
    sessionID?: string
    error?: unknown
    info?: SessionInfo & { sessionID?: string; role?: string; time?: { completed?: number } }
    status?: { type: string }
  }
}

export type Response<T> = Promise<{ data?: T; error?: unknown }>

/** The client's calls resolve even for HTTP errors. */
export interface Client {
  app: { log(o: { body: { service: string; level: string; message: string } }): Response<unknown> }
  config: { providers(): Response<{ providers: Provider[] }> }
  session: {
    get(o: { path: { id: string } }): Response<{ id: string; parentID?: string; title?: string }>
    list(o: { query: { search: string } }): Response<Array<SessionInfo & { id: string; time: { updated: number } }>>
    create(o: { body: { parentID: string; title: string } }): Response<{ id: string }>
    delete(o: { path: { id: string } }): Response<unknown>
    /** Ends the running turn of a session, if there is one. */
    abort(o: { path: { id: string } }): Response<unknown>
    messages(o: { path: { id: string }; query?: { limit?: number } }): Response<unknown[]>
    prompt(o: { path: { id: string }; body: PromptBody }): Response<unknown>
    /** Returns the status of each session that is not idle. */
    status(o: object): Response<Record<string, { type: string }>>
  }
  tui: { showToast(o: { body: { title?: string; message: string; variant: string; duration?: number } }): Response<unknown> }
}

export interface SessionInfo {
  id?: string
  parentID?: string
  title?: string
}

export interface PromptBody {
  agent?: string
  /** OpenCode adds this text after the agent's prompt. */
  system?: string
  /** Says for each tool whether the session may use it, by the tool's name. "*" means all tools. */
  tools?: Record<string, boolean>
  model?: { providerID: string; modelID: string }
  variant?: string
  noReply?: boolean
  parts: { type: "text"; text: string; ignored?: boolean; synthetic?: boolean }[]
}

export interface Provider {
  id: string
  models: Record<string, ProviderModel>
}

export interface ProviderModel {
  limit?: { context?: number; input?: number; output?: number }
  cost?: { input?: number; output?: number; cache?: { read?: number; write?: number } }
  api?: { npm?: string }
}

export interface PluginInput {
  client: Client
  directory: string
  worktree: string
}

export interface ToolContext {
  sessionID: string
  callID?: string
  abort?: AbortSignal
}

export interface Config {
  agent?: Record<string, unknown>
  command?: Record<string, unknown>
  compaction?: { auto?: boolean }
}

export interface Hooks {
  config?(config: Config): Promise<void>
  dispose?(): Promise<void>
  event?(input: { event: Event }): Promise<void>
  tool?: Record<string, ToolRegistration>
  "tool.definition"?(input: { toolID: string }, output: { description: string; jsonSchema?: unknown }): Promise<void>
  "chat.params"?(input: { sessionID: string }, output: Params): Promise<void>
  "chat.message"?(input: { sessionID: string }, output: { message: UserMessage; parts: unknown[] }): Promise<void>
  "command.execute.before"?(input: { command: string; sessionID: string; arguments: string }, output: { parts: unknown[] }): Promise<void>
  "experimental.chat.messages.transform"?(input: unknown, output: { messages: Message[] }): Promise<void>
  "experimental.chat.system.transform"?(
    input: { sessionID?: string; model?: { id: string; providerID: string } },
    output: { system: string[] },
  ): Promise<void>
  "experimental.session.compacting"?(input: { sessionID: string }, output: unknown): Promise<void>
  "experimental.text.complete"?(input: { sessionID: string }, output: { text: string }): Promise<void>
}

export interface Params {
  maxOutputTokens?: number | undefined
  options?: Record<string, { budgetTokens?: number } | undefined>
}

export interface ToolRegistration {
  description: string
  /**
   * Always empty. The hook tool.definition sets the tool's real schema, which OpenCode sends to the model unchanged.
   */
  args: Record<string, never>
  execute(args: unknown, context: ToolContext): Promise<{ title?: string; output: string }>
}

/** The part of OpenCode's terminal interface that this shim uses. Terminal and server are threads of one process. */
export interface Screen {
  readonly route: { readonly current: { readonly name: string; readonly params?: { readonly sessionID?: unknown } } }
  readonly theme: { readonly current: { readonly text: unknown; readonly textMuted: unknown; readonly warning: unknown; readonly error: unknown; readonly success: unknown } }
  readonly renderer: { readonly width: number; readonly height: number }
  readonly ui: {
    toast(toast: { title?: string; message: string; variant?: "info" | "success" | "warning" | "error"; duration?: number }): void
    readonly dialog: {
      /** Replaces the open dialog with the element that `render` returns. `closed` runs once this element is gone. */
      replace(render: () => unknown, closed?: () => void): void
      clear(): void
      setSize(size: "medium" | "large"): void
    }
    DialogSelect(props: { title: string; options: ListOption[]; onSelect(option: { value: unknown }): void }): unknown
    DialogConfirm(props: { title: string; message: string; onConfirm(): void }): unknown
    DialogPrompt(props: { title: string; value?: string; onConfirm(value: string): void }): unknown
  }
  readonly keymap: { registerLayer(layer: { commands: PaletteCommand[]; bindings: never[] }): unknown }
  readonly slots: { register(plugin: { order?: number; slots: Record<string, (context: unknown, props: SlotProps) => unknown> }): string }
  readonly state: { readonly path: { readonly directory: string } }
  readonly lifecycle: { onDispose(stop: () => void): unknown }
}

interface ListOption {
  title: string
  value: unknown
  description?: string
}

interface SlotProps {
  readonly session_id: string
}

/**
 * A command of the palette. The plugin's half in the server has already registered its slash name, for example
 * /ctx-status.
 */
export interface PaletteCommand {
  readonly namespace: "palette"
  readonly name: string
  readonly title: string
  readonly desc: string
  readonly category: string
  run(): void
}
