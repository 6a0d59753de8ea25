// Runs our code for OpenCode's terminal in its own process: bun sidebar.mjs VERSION BUNDLE SESSION. VERSION is 1 or 2.
// OpenCode's part is empty here, so the process's time is our code's time. Without arguments, it loads no code, for
// comparison. It prints a line when the panel is complete, and ends when stdin ends.
import { plugin } from "bun"

const [version, bundle, session] = process.argv.slice(2)
const effects = []
const effect = (body) => (effects.push(body), body())
const setProp = (element, name, value) => {
  if (name === "content" && /measured yet|tokens/.test(value)) console.log("shown:", value)
}
const modules = {
  "solid-js": { createSignal: (value) => [() => value, (set) => ((value = set()), effects.forEach((body) => body()))] },
  "@opentui/solid": { createElement: () => ({}), insertNode() {}, insert: (_, elements) => effect(elements), useKeyboard() {}, setProp, effect },
}
plugin({
  name: "opencode",
  setup(build) {
    for (const [name, exports] of Object.entries(modules)) build.module(name, () => ({ exports: { default: {}, ...exports }, loader: "object" }))
  },
})

const location = { directory: process.cwd() }
const halves = {
  async 1({ tui }) {
    const shown = {}
    await tui({
      route: { current: { name: "session", params: { sessionID: session } } },
      theme: { current: {} },
      renderer: { height: 40 },
      state: { path: location },
      ui: { toast: ({ message }) => console.error(message), dialog: { clear() {} } },
      keymap: { registerLayer() {} },
      slots: { register: ({ slots }) => Object.assign(shown, slots) },
      lifecycle: { onDispose() {} },
    })
    for (const draw of Object.values(shown)) draw({}, { session_id: session })
  },
  2({ setup }) {
    const view = { panel: { line: "5 of 200k", brief: "", size: "5k tokens", parts: [], window: 1, facts: [] } }
    setup({
      client: { rpc: () => ({ news: async () => ({ commands: [], view, notices: [], seen: 1 }) }) },
      data: { on: () => () => {}, session: { get: (id) => ({ id, location }) }, location: { default: () => location } },
      keymap: { layer() {} },
      ui: { toast: { show: ({ message }) => console.error(message) }, router: { current: () => ({ type: "session", sessionID: session }) }, slot: ({ render }) => render({ sessionID: session }) },
    })
  },
}
process.stdin.resume().on("end", () => process.exit())
if (bundle) await halves[version]((await import(bundle)).default)
else console.log("shown: nothing")
