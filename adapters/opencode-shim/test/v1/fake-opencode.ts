import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, type TestContext } from "node:test"
import { FakeHost, fakeHostPath, initialized, type Script } from "../../../shim-core/test/fakehost.ts"
import type { InitializeResult } from "@magicctx/shim-core"
import type { Hooks, Message, PluginInput, PromptBody, Provider, SessionInfo } from "../../src/v1/opencode.ts"
import { server } from "../../src/v1/plugin.ts"

// The plugin stores files that it reads at its next start. Tests must not write these files into the user's own
// directory.
process.env.XDG_STATE_HOME = mkdtempSync(join(tmpdir(), "magicctx-state-"))
after(() => rmSync(process.env.XDG_STATE_HOME!, { recursive: true, force: true }))

/** Records the plugin's calls to its harness. */
export class FakeOpenCode {
  readonly toasts: Array<{ title?: string; message: string; variant: string; duration?: number }> = []
  readonly logged: string[] = []
  readonly prompts: Array<{ id: string; body: PromptBody }> = []
  readonly lookups: string[] = []
  parents: Record<string, string> = {}
  /** The sessions in which a turn runs. */
  readonly busy = new Set<string>()
  /** Called while a message is being stored. */
  storing: (id: string, body: PromptBody) => Promise<void> = async () => {}
  providers: Provider[] = []
  /** The titles of sessions, by id. */
  titles: Record<string, string> = {}
  /** The child sessions that the plugin has created, by id. */
  readonly children = new Map<string, { parentID: string; title: string; messages: unknown[] }>()
  /** The sessions that OpenCode returns when the plugin asks for a list of sessions. */
  listed: Array<SessionInfo & { id: string; time: { updated: number } }> = []
  readonly deleted: string[] = []
  readonly aborted: string[] = []
  /** Maps the id of a session to the function that ends the session's turn when the plugin aborts it. */
  readonly endOf = new Map<string, () => void>()
  /** Called while a child session is being created. */
  creating: (id: string) => Promise<void> = async () => {}
  /** Runs the turn of a child session, by adding the turn's messages. */
  answering: (id: string, body: PromptBody, messages: unknown[]) => Promise<{ error?: unknown }> = async () => ({})

  readonly client: PluginInput["client"] = {
    app: { log: async ({ body }) => (this.logged.push(body.message), {}) },
    config: { providers: async () => ({ data: { providers: this.providers } }) },
    session: {
      get: async ({ path: { id } }) => {
        this.lookups.push(id)
        const parentID = this.parents[id]
        const title = this.titles[id]
        return { data: { id, ...(parentID && { parentID }), ...(title && { title }) } }
      },
      messages: async ({ path }) => ({ data: this.children.get(path.id)?.messages ?? ["history"] }),
      list: async ({ query }) => ({ data: this.listed.filter(({ title }) => title?.includes(query.search)) }),
      create: async ({ body }) => {
        const id = `ses_child${this.children.size + 1}`
        this.children.set(id, { ...body, messages: [] })
        await this.creating(id)
        return { data: { id } }
      },
      delete: async ({ path }) => (this.deleted.push(path.id), {}),
      abort: async ({ path }) => {
        this.aborted.push(path.id)
        this.endOf.get(path.id)?.()
        return {}
      },
      prompt: async ({ path, body }) => {
        const child = this.children.get(path.id)
        if (child) return await this.answering(path.id, body, child.messages)
        await this.storing(path.id, body)
        this.prompts.push({ id: path.id, body })
        return {}
      },
      status: async () => ({ data: Object.fromEntries([...this.busy].map((id) => [id, { type: "busy" }])) }),
    },
    tui: { showToast: async ({ body }) => (this.toasts.push(body), {}) },
  }
}

// A process has only one host, so all tests of a process use this fake.
export const fake = new FakeHost()
process.env.MAGICCTX_HOST = fakeHostPath()
after(() => fake.remove())

let directories = 0

/** Loads the plugin for a new directory, as OpenCode does. The fake host does what `script` says. */
export async function load(t: TestContext, answer: Partial<InitializeResult> = {}, script: Script = {}) {
  fake.follow({ ...script, results: { ...script.results, initialize: { ...initialized, ...answer } } })
  const opencode = new FakeOpenCode()
  const directory = `/project/${++directories}`
  const hooks = await server({ client: opencode.client, directory, worktree: directory })
  t.after(() => hooks.dispose!())
  const received = (method: string) => fake.received(method).filter(({ params }) => params!.directory === directory)
  return { opencode, hooks, directory, received }
}

/** Calls the hook that OpenCode calls before each request to the model. */
export async function pass(hooks: Hooks, messages: Message[]): Promise<Message[]> {
  await hooks["experimental.chat.messages.transform"]!({}, { messages })
  return messages
}

export const user = (id: string, text: string, more: Partial<Message["info"]> = {}, session = "ses_1"): Message => ({
  info: { id, sessionID: session, role: "user", agent: "build", model: { providerID: "p", modelID: "m" }, ...more },
  parts: [{ id: `prt_${id}`, sessionID: session, messageID: id, type: "text", text }],
})

export const textOf = (messages: Message[]) => messages.map(({ parts }) => (parts[0] as { text: string }).text)
