/**
 * The part of OpenCode 2's plugin interface that this shim uses, as release 2.0.26 declares it. It is declared here, so
 * that the shim needs no package of OpenCode. Each optional member is missing in some version of OpenCode 2.
 */

/** OpenCode hands this to the plugin, once for each directory. */
export interface PluginContext {
  readonly app?: { readonly name: string; readonly version: string }
  readonly location?: { readonly directory: string }
  readonly session: SessionDomain
  readonly plugin?: { list(): Promise<{ readonly location?: { readonly directory: string } }> }
  readonly tool?: { transform(edit: (editor: ToolEditor) => void): Promise<Registration> }
  readonly event?: { subscribe(options?: { signal?: AbortSignal }): AsyncIterable<Event> }
  readonly model?: { list(): Promise<Listed<CatalogueModel>> }
  readonly provider?: { list(): Promise<Listed<CatalogueProvider>> }
  /** The model and provider lists of the betas. */
  readonly catalog?: { readonly model: { list(): Promise<Listed<CatalogueModel>> }; readonly provider: { list(): Promise<Listed<CatalogueProvider>> } }
  readonly storage?: Storage
  readonly rpc?: { register(definition: RpcDefinition, handlers: RpcHandlers): Promise<RpcRegistration> }
}

export interface Registration {
  dispose(): Promise<void>
}

/** A list call also returns its location. */
export interface Listed<T> {
  readonly data: readonly T[]
}

export interface SessionDomain {
  hook(name: "context" | "generate", callback: (event: SessionContext) => Promise<void>): Promise<Registration>
  hook(name: "compaction", callback: (event: SessionCompaction) => Promise<void>): Promise<Registration>
  hook(name: "title", callback: (event: SessionTitle) => Promise<void>): Promise<Registration>
  get(input: { sessionID: string }): Promise<SessionInfo>
  create(input: { title?: string; model?: ModelRef; location?: { directory: string }; permissions?: readonly Rule[] }): Promise<{ id: string }>
  prompt(input: { sessionID: string; text: string }): Promise<unknown>
  interrupt(input: { sessionID: string }): Promise<unknown>
  /** The stored messages since the newest completed compaction. */
  context?(input: { sessionID: string }): Promise<readonly StoredMessage[]>
  wait?(input: { sessionID: string }): Promise<unknown>
  remove?(input: { sessionID: string }): Promise<unknown>
}

export interface SessionInfo {
  readonly id: string
  readonly parentID?: string
  readonly fork?: { readonly sessionID: string }
  readonly location?: { readonly directory: string }
}

export interface Rule {
  action: string
  resource: string
  effect: "allow" | "deny" | "ask"
}

export interface ModelRef {
  readonly id: string
  readonly providerID: string
  readonly variant?: string
}

export interface SessionRequest {
  readonly sessionID: string
  readonly model: ModelRef
  system: SystemPart[]
  messages: Entry[]
  /** Undefined in the betas. */
  options?: { maxTokens?: number } & Record<string, unknown>
}

export interface SessionContext extends SessionRequest {
  readonly agent: string
  tools: Record<string, unknown>
}

export interface SessionCompaction extends SessionContext {
  /** If `result` is set, OpenCode asks no model. */
  result?: { summary: string }
}

export interface SessionTitle extends SessionRequest {
  result?: string
}

export interface SystemPart {
  readonly type: "text"
  readonly text: string
}

/** OpenCode's messages are instances of a class, but other plugins may add plain objects. */
export interface Entry {
  readonly id?: string
  readonly role: "system" | "user" | "assistant" | "tool"
  readonly content: readonly Part[]
}

/** Parts of other types have members that this shim does not read. */
export interface Part {
  readonly type: string
  readonly id?: string
  readonly text?: string
  readonly result?: { readonly type: string; readonly value: unknown }
  readonly media?: { readonly mediaType: string; readonly source?: { readonly type: string; readonly data?: unknown; readonly uri?: string } }
  /** The betas have these two members in place of `media`. */
  readonly mediaType?: string
  readonly data?: string
}

export interface StoredMessage {
  readonly id: string
  readonly type: string
  readonly time: { readonly created: number; readonly completed?: number }
  readonly agent?: string
  readonly model?: ModelRef
  readonly finish?: string
  readonly tokens?: Tokens
  readonly error?: SessionError
  /** The words of a prompt, without its skills and files. */
  readonly text?: string
  readonly content?: ReadonlyArray<{ readonly type: string; readonly text?: string }>
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cache: { readonly read: number; readonly write: number }
}

export interface SessionError {
  readonly type: string
  readonly message: string
  readonly status?: number
  readonly response?: { readonly body: string }
}

export interface Event {
  readonly type: string
  readonly created?: number
  readonly location?: { readonly directory: string }
  readonly data: EventData
}

/** Each event has some of these members. */
export interface EventData {
  readonly sessionID?: string
  readonly assistantMessageID?: string
  readonly agent?: string
  readonly model?: ModelRef
  /** When the step started, in ms. The time of the event itself is later. The betas lack this member. */
  readonly started?: number
  readonly finish?: string
  readonly tokens?: Tokens
  readonly error?: SessionError
  readonly title?: string
  readonly text?: string
}

export interface CatalogueModel {
  readonly id: string
  readonly providerID: string
  readonly package?: string
  readonly limit?: { readonly context?: number; readonly input?: number; readonly output?: number }
  readonly cost?: ReadonlyArray<{ readonly tier?: unknown; readonly input?: number; readonly output?: number; readonly cache?: { readonly read?: number; readonly write?: number } }>
}

export interface CatalogueProvider {
  readonly id: string
  readonly package?: string
}

export interface ToolEditor {
  add(tool: ToolRegistration): void
}

export interface ToolRegistration {
  readonly name: string
  readonly description: string
  readonly input: unknown
  /** The betas read the schema of the tool's arguments here. */
  readonly jsonSchema: unknown
  /**
   * By default, OpenCode offers a plugin's tool only to scripts of its code mode. `codemode: false` lets the model call
   * the tool directly.
   */
  readonly options: { readonly codemode: false }
  execute(input: unknown, context: ToolContext): Promise<{ content: Array<{ type: "text"; text: string }>; structured: object }>
}

export interface ToolContext {
  readonly sessionID: string
  /** The id of the call. */
  readonly id?: string
  /** The id of the call in the betas. */
  readonly callID?: string
  readonly signal?: AbortSignal
}

export interface Storage {
  set(key: string, value: unknown): Promise<unknown>
  remove(key: string): Promise<unknown>
  scan(options: { prefix: string }): Promise<{ readonly entries: ReadonlyArray<{ readonly key: string; readonly value: unknown }> }>
}

/** OpenCode checks the values of calls and events against these JSON Schemas. */
export interface RpcDefinition {
  readonly id: string
  readonly methods: Readonly<Record<string, { readonly input: object; readonly output: object }>>
  readonly events: Readonly<Record<string, { readonly schema: { readonly type: "object" } }>>
}

export type RpcHandlers = Readonly<Record<string, (input: never) => Promise<unknown>>>

export interface RpcRegistration extends Registration {
  readonly events: { emit(name: string, data: Readonly<Record<string, unknown>>): Promise<void> }
}

/** The betas have only client (without rpc), data, keymap and ui. */
export interface TerminalContext {
  readonly location?: { readonly directory: string }
  readonly client: { readonly rpc?: (definition: RpcDefinition) => RpcCalls }
  readonly data: {
    on(type: string, handler: (event: { readonly location?: { readonly directory: string } }) => void): () => void
    readonly session: { get(session: string): SessionInfo | undefined }
    readonly location: { default(): { readonly directory: string } }
  }
  readonly theme?: { readonly text: { readonly base: unknown; readonly muted: unknown } }
  readonly renderer?: { readonly width: number; readonly height: number }
  readonly keymap: { layer(factory: () => KeymapLayer): void }
  readonly ui: {
    readonly toast?: { show(options: ToastOptions): void }
    readonly dialog?: {
      alert(options: { title: string; message: string }): Promise<void>
      confirm(options: { title: string; message: string }): Promise<boolean | undefined>
      prompt(options: { title: string; value?: string }): Promise<string | undefined>
      select<Value>(options: { title: string; options: ReadonlyArray<{ title: string; value: Value; description?: string }> }): Promise<Value | undefined>
      show(render: () => unknown, closed?: () => void): void
      clear(): void
      set(options: { size: "medium" | "large" | "xlarge" }): void
    }
    readonly router: { current(): { readonly type: string; readonly sessionID?: string } }
    readonly slot: (claim: { append: "prompt.footer.status" | "sidebar.content"; render(input: { readonly sessionID?: string }): unknown }) => () => void
  }
}

/**
 * The calls of the plugin's terminal half to its server half. If a call fails, the returned promise rejects with a
 * plain object that has a message.
 */
export type RpcCalls = Readonly<Record<string, (input: object, options: { location: { directory: string } }) => Promise<unknown>>>

export interface ToastOptions {
  readonly title?: string
  readonly message: string
  readonly variant?: "info" | "success" | "warning" | "error"
  readonly duration?: number
}

export interface KeymapLayer {
  readonly mode?: string
  readonly commands: readonly KeymapCommand[]
}

export interface KeymapCommand {
  readonly id: string
  readonly title: string
  readonly description?: string
  readonly group?: string
  /** OpenCode leaves a chosen command in the prompt until the user has added arguments and sends it. */
  readonly slash: { readonly name: string; readonly arguments: true }
  run(input?: string): Promise<void>
}
