import assert from "node:assert/strict"
import type { KeymapCommand, RpcDefinition, RpcHandlers, TerminalContext, ToastOptions } from "../../src/v2/opencode2.ts"
import { FakeSolid, rowsOf, type Node } from "../fake-solid.ts"

type Schema = { type: string; properties?: Record<string, Schema>; required?: string[]; additionalProperties?: boolean; items?: Schema }

/** Checks a value against its schema, as OpenCode does before it sends the value to the other process. */
function check(value: unknown, schema: Schema, path = "value"): void {
  const is = Array.isArray(value) ? "array" : typeof value
  assert.equal(is, schema.type, path)
  if (schema.items) for (const [i, item] of (value as unknown[]).entries()) check(item, schema.items, `${path}[${i}]`)
  if (!schema.properties) return
  const members = value as Record<string, unknown>
  for (const name of schema.required ?? []) assert.ok(name in members, `${path} lacks ${name}`)
  for (const [name, member] of Object.entries(members)) {
    const inner = schema.properties[name]
    assert.ok(inner || schema.additionalProperties, `${path} has ${name}`)
    if (inner) check(member, inner, `${path}.${name}`)
  }
}

const carried = <T>(value: T, schema: object): T => {
  const copy = value === undefined ? value : JSON.parse(JSON.stringify(value))
  check(copy, schema as Schema)
  return copy
}

/** A fake of OpenCode's RPC between a plugin's half in the server and its halves in the terminals. */
export class FakeRpc {
  private registered: { definition: RpcDefinition; handlers: RpcHandlers } | undefined
  readonly terminals: FakeTerminal[] = []
  readonly called: Array<[string, unknown]> = []

  async register(definition: RpcDefinition, handlers: RpcHandlers) {
    this.registered = { definition, handlers }
    const emit = async (name: string, data: object) => {
      carried(data, definition.events[name]!.schema)
      for (const terminal of this.terminals) terminal.emit(`rpc.${definition.id}.${name}`)
    }
    return { events: { emit }, dispose: async () => void (this.registered = undefined) }
  }

  async call(name: string, input: object): Promise<unknown> {
    const { registered } = this
    if (!registered) throw { type: "rpc.unavailable", message: "RPC is unavailable: magicctx" }
    const { input: takes, output } = registered.definition.methods[name]!
    this.called.push([name, carried(input, takes)])
    return carried(await registered.handlers[name]!(carried(input, takes) as never), output)
  }
}

/** A fake terminal of OpenCode 2 with the members of release 2.0.26. A test can remove members. */
export class FakeTerminal {
  session: string | undefined
  readonly toasts: ToastOptions[] = []
  readonly alerts: Array<{ title: string; message: string }> = []
  /** The texts of the dialogs. */
  readonly dialogs: string[][] = []
  readonly screen = new FakeSolid()
  readonly solid = this.screen.load
  readonly commands = new Map<string, KeymapCommand>()
  readonly handlers = new Map<string, Array<() => void>>()
  readonly directories: string[] = []
  /** The elements below the prompt and in the sidebar, by session. */
  readonly footers = new Map<string, Node>()
  readonly sidebars = new Map<string, Node>()
  readonly ctx: TerminalContext

  constructor(directory: string, rpc: FakeRpc) {
    rpc.terminals.push(this)
    this.ctx = {
      client: {
        rpc: ({ methods }) => Object.fromEntries(Object.keys(methods).map((name) => [name, async (input, { location }) => {
          this.directories.push(location.directory)
          return rpc.call(name, input)
        }])),
      },
      data: {
        on: (type, handler) => {
          const run = () => handler({ location: { directory } })
          this.handlers.set(type, [...(this.handlers.get(type) ?? []), run])
          return () => this.handlers.set(type, this.handlers.get(type)!.filter((one) => one !== run))
        },
        session: { get: (id) => ({ id, location: { directory } }) },
        location: { default: () => ({ directory }) },
      },
      theme: { text: { base: "white", muted: "grey" } },
      renderer: { width: 80, height: 40 },
      keymap: { layer: (factory) => factory().commands.forEach((command) => this.commands.set(command.slash.name, command)) },
      ui: {
        toast: { show: (options) => void this.toasts.push(options) },
        dialog: {
          alert: async (options) => void this.alerts.push(options),
          confirm: async ({ title, message }) => this.screen.answer([title, message]) as boolean | undefined,
          prompt: async ({ title, value }) => this.screen.answer([title, value]) as string | undefined,
          select: async ({ title, options }) => {
            const label = this.screen.answer([title, options.map(({ title }) => title)])
            return options.find(({ title }) => title === label)?.value
          },
          clear: () => {},
          show: (render) => void this.dialogs.push(rowsOf(render() as Node)),
          set: () => {},
        },
        router: { current: () => (this.session === undefined ? { type: "home" } : { type: "session", sessionID: this.session }) },
        slot: ({ append, render }) => {
          const elements = { "prompt.footer.status": this.footers, "sidebar.content": this.sidebars }[append]
          for (const session of ["s", "other"]) elements.set(session, render({ sessionID: session }) as Node)
          return () => {}
        },
      },
    }
  }

  emit(type: string): void {
    for (const run of this.handlers.get(type) ?? []) run()
  }

  get line(): string | undefined {
    return this.footers.get("s")?.content
  }

  get sidebar(): string[] {
    return rowsOf(this.sidebars.get("s")!)
  }
}
