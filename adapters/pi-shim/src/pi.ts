/**
 * The part of Pi's extension interface that this shim uses, as Pi 0.74.2, 0.87.1 and 1.5.2 declare it. The shim has its
 * own declarations, so that it needs no package of Pi. The checks in types/ compare them with Pi's declarations. If a
 * version of Pi lacks a member, the member is optional here, and the shim checks for it.
 */

export interface Message {
  role: string
  content?: unknown
  timestamp?: number
}

export interface AssistantMessage extends Message {
  role: "assistant"
  api: string
  provider: string
  model: string
  usage: unknown
  stopReason: string
  errorMessage?: string
}

export interface TextBlock {
  type: "text"
  text: string
}

export interface Model {
  id: string
  provider: string
  api: string
  contextWindow: number
  maxTokens: number
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number }
}

export interface SessionManager {
  getSessionId(): string
  getSessionFile(): string | undefined
  getHeader(): { parentSession?: string } | null
  getBranch(): Entry[]
  /** From 0.87 on. A Pi with this method also has the event context_with_system. */
  buildSessionProjection?(): unknown
}

export interface Entry {
  type: string
  id: string
}

export interface Component {
  render(columns: number): string[]
  handleInput(keys: string): void
  invalidate(): void
}

export interface Tui {
  readonly terminal: { readonly rows: number }
  requestRender(): void
}

export interface UI {
  /** Without a screen, nothing is shown. */
  select(title: string, options: string[]): Promise<string | undefined>
  confirm(title: string, message: string): Promise<boolean>
  editor(title: string, prefill?: string): Promise<string | undefined>
  notify(message: string, type?: "info" | "warning" | "error"): void
  setStatus(key: string, text: string | undefined): void
  setWidget(key: string, content: string[] | undefined): void
  /** Shows a component over the screen, and passes it the pressed keys. Without a terminal, nothing is drawn. */
  custom(make: (tui: Tui, theme: unknown, keys: unknown, close: (result: undefined) => void) => Component, options: { overlay: true; overlayOptions: { width: "100%"; maxHeight: "100%" } }): Promise<unknown>
}

/** If another session has replaced this one, every member throws. */
export interface Context {
  ui: UI
  hasUI: boolean
  /** "tui" on a terminal; undefined before 0.87. */
  mode?: string | undefined
  cwd: string
  sessionManager: SessionManager
  modelRegistry: { find(provider: string, modelId: string): Model | undefined }
  model: Model | undefined
  signal: AbortSignal | undefined
  getSystemPrompt(): string
  isIdle(): boolean
}

export interface ToolResult {
  content: TextBlock[]
  details: undefined
}

export interface ToolDefinition {
  name: string
  label: string
  description: string
  parameters: never // Pi declares TypeBox here, but accepts any JSON Schema
  /** From 1.0 on. With "model-only", the scripts of other tools cannot call this tool. */
  exposure?: "model-only"
  execute(id: string, args: unknown, signal: AbortSignal | undefined, onUpdate: unknown, ctx: Context): Promise<ToolResult>
}

/** Events differ between the versions of Pi, so `on` is declared in index.ts. */
export interface Pi {
  registerTool(tool: ToolDefinition): void
  registerCommand(name: string, command: { description?: string; handler(args: string, ctx: Context): Promise<void> }): void
}

export interface SessionStart {
  type: "session_start"
  reason: string
}

export interface SessionShutdown {
  type: "session_shutdown"
  reason: string
}

/** A line that the user, a program or an extension has sent. Pi has not read it yet. */
export interface Input {
  text: string
  source?: string
}

export interface ContextEvent<M extends Message = Message> {
  messages: M[]
}

/** From 0.87 on: the options from which Pi renders the system prompt of a run. */
export interface PromptOptions {
  /** The whole prompt, if an extension has replaced it. */
  forceSystemPrompt?: string
}

export interface BeforeAgentStart {
  readonly systemPrompt: string
  /** PromptOptions, from 0.87 on. */
  systemPromptOptions: object
}

/** From 0.87 on. The sections follow the content. */
export interface SystemMessage extends Message {
  role: "system"
  sections?: Record<string, string | null>
}

/** From 0.87 on. */
export interface CompactFailed {
  reason: "manual" | "threshold" | "overflow"
  aborted: boolean
}

export interface BeforeCompact {
  preparation: { tokensBefore: number; settings: { reserveTokens: number } }
  branchEntries: Entry[]
  /** From 0.87 on. */
  reason?: "manual" | "threshold" | "overflow"
}

export interface BeforeCompactResult {
  cancel?: boolean
  compaction?: { summary: string; firstKeptEntryId: string; tokensBefore: number }
}

export interface BeforeProviderRequest {
  payload: unknown
}

/** From 0.87 on: the event in which Pi decides whether to refresh the cached prefix of an idle session. */
export interface CacheWarmingDecision {
  action: "warm" | "stop"
}

export interface Open {
  readonly pi: Pi
  readonly ctx: Context
  readonly session: string
}
