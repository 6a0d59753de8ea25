import assert from "node:assert/strict"
import { test } from "node:test"
import { server } from "../../src/v1/plugin.ts"
import { FakeOpenCode, pass, textOf, user } from "./fake-opencode.ts"

test("without a host the plugin loads at once and passes everything through", async () => {
  process.env.MAGICCTX_HOST = "/nowhere/magicctx-host"
  const opencode = new FakeOpenCode()
  const hooks = await server({ client: opencode.client, directory: "/p", worktree: "/p" })
  const config = {}
  await hooks.config!(config)
  const system = ["s"]
  await hooks["experimental.chat.system.transform"]!({ sessionID: "ses_1" }, { system })
  await hooks["chat.message"]!({ sessionID: "ses_1" }, { message: { id: "u9", time: { created: 1 } }, parts: [] })
  await hooks["command.execute.before"]!({ command: "init", sessionID: "ses_1", arguments: "" }, { parts: [] })
  assert.deepEqual(textOf(await pass(hooks, [user("u1", "one")])), ["one"])
  assert.deepEqual([config, system, hooks.tool], [{}, ["s"], {}])
  assert.equal(opencode.logged.length, 1)
  assert.match(opencode.logged[0]!, /MAGICCTX_HOST names \/nowhere\/magicctx-host/)
  await hooks.dispose!()
})
