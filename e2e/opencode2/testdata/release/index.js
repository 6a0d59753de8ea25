// Loads the plugin under test, and adds ctx.rpc, which the beta lacks. The calls go through a socket.
import { createServer } from "node:net"
import { createInterface } from "node:readline"

const { default: plugin } = await import(process.env.MAGICCTX_TEST_PLUGIN)

let registered
const terminals = new Set()

const listening = createServer((socket) => {
  terminals.add(socket)
  socket.on("close", () => terminals.delete(socket)).on("error", () => {})
  createInterface({ input: socket }).on("line", async (line) => {
    const { id, name, input } = JSON.parse(line)
    const answer = await (registered?.[name](input) ?? Promise.reject({ message: "RPC is unavailable" })).then(
      (output) => ({ id, output }),
      (error) => ({ id, error: { message: error.message } }),
    )
    socket.write(JSON.stringify(answer) + "\n")
  })
})
listening.listen(process.env.MAGICCTX_TEST_RPC)
listening.unref()

const rpc = {
  async register({ id }, handlers) {
    registered = handlers
    const emit = async (name) => {
      for (const socket of terminals) socket.write(JSON.stringify({ event: `rpc.${id}.${name}` }) + "\n")
    }
    return { events: { emit }, dispose: async () => void (registered = undefined) }
  },
}

export default { ...plugin, setup: (ctx) => plugin.setup({ ...ctx, rpc }) }
