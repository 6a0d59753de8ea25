// Loads the plugin's code for the terminal, and adds the members of a release that the beta lacks. They use the beta's
// own toasts, dialogs, keymap and renderer. As in a release, OpenTUI replaces the code's imports of Solid by the
// terminal's Solid.
import { connect } from "node:net"
import { createInterface } from "node:readline"

const tui = `${process.env.MAGICCTX_TEST_SOURCE}/packages/tui`
const from = (name) => import(Bun.resolveSync(name, tui))

export default {
  id: "magicctx",
  async setup(ctx) {
    const { ensureRuntimePluginSupport } = await from("@opentui/solid/runtime-plugin-support/configure")
    ensureRuntimePluginSupport()
    const { default: half } = await import(process.env.MAGICCTX_TEST_TERMINAL)
    const { createComponent, getOwner, runWithOwner } = await from("solid-js")
    const { useToast } = await import(`${tui}/src/ui/toast.tsx`)
    const { useDialog } = await import(`${tui}/src/ui/dialog.tsx`)
    const { DialogAlert } = await import(`${tui}/src/ui/dialog-alert.tsx`)
    const { DialogConfirm } = await import(`${tui}/src/ui/dialog-confirm.tsx`)
    const { DialogPrompt } = await import(`${tui}/src/ui/dialog-prompt.tsx`)
    const { DialogSelect } = await import(`${tui}/src/ui/dialog-select.tsx`)

    const { rpc, on } = calls(ctx)
    let isOpen = false
    // In the beta, only a component can use toasts, dialogs and the keymap.
    ctx.ui.slot("app", () => {
      if (isOpen) return null
      isOpen = true
      const owner = getOwner()
      const toast = useToast()
      const dialog = useDialog()
      const ask = (component, props) =>
        new Promise((resolve) => {
          const done = (answer) => {
            resolve(answer)
            dialog.clear()
          }
          dialog.replace(() => createComponent(component, props(done)), () => resolve(undefined))
        })
      const input = {
        get sessionID() {
          return ctx.ui.router.current().sessionID
        },
      }
      queueMicrotask(() =>
        half.setup({
          ...ctx,
          renderer: { width: 80, height: 20 }, // a small terminal, so that a long answer must scroll
          client: { rpc },
          data: { ...ctx.data, on },
          keymap: { layer: (factory) => runWithOwner(owner, () => ctx.keymap.layer(factory)) },
          ui: {
            router: ctx.ui.router,
            toast,
            dialog: {
              alert: ({ title, message }) => DialogAlert.show(dialog, title, message),
              confirm: ({ title, message }) => DialogConfirm.show(dialog, title, message),
              prompt: ({ title, value }) => ask(DialogPrompt, (done) => ({ title, value, onConfirm: done })),
              select: ({ title, options }) => ask(DialogSelect, (done) => ({ title, options: [...options], onSelect: ({ value }) => done(value) })),
              clear: () => dialog.clear(),
              show: (render, closed) => dialog.replace(render, closed),
              set: ({ size }) => dialog.setSize(size),
            },
            slot: ({ append, render }) => (append === "sidebar.content" ? ctx.ui.slot(append, render) : ctx.ui.slot("app.bottom", () => render(input))),
          },
        }),
      )
      return null
    })
  },
}

/** The calls to the plugin's half in the server. */
function calls(ctx) {
  const socket = connect(process.env.MAGICCTX_TEST_RPC)
  const waiting = new Map()
  const handlers = []
  let next = 0
  createInterface({ input: socket }).on("line", (line) => {
    const { event, id, output, error } = JSON.parse(line)
    if (event) for (const { type, handler } of handlers) type === event && handler({})
    else if (error) waiting.get(id).reject(error)
    else waiting.get(id).resolve(output)
  })
  const call = (name) => (input) =>
    new Promise((resolve, reject) => {
      waiting.set(++next, { resolve, reject })
      socket.write(JSON.stringify({ id: next, name, input }) + "\n")
    })
  return {
    rpc: ({ methods }) => Object.fromEntries(Object.keys(methods).map((name) => [name, call(name)])),
    on(type, handler) {
      if (!type.startsWith("rpc.")) return ctx.data.on(type, handler)
      handlers.push({ type, handler })
      return () => {}
    },
  }
}
