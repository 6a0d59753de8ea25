import assert from "node:assert/strict"
import { test } from "node:test"
import { FakePi, user } from "./fake-pi.ts"

test("without a host the extension loads at once, passes everything through, and says why", async () => {
  process.env.MAGICCTX_HOST = "/nowhere/magicctx-host"
  const pi = new FakePi("/p", "s")
  await pi.start()
  const messages = [user("one")]
  assert.deepEqual(await pi.request(messages), { messages, isTouched: false })
  assert.equal(await pi.emit("context_with_system", { messages: [{ role: "system", content: "s" }, ...messages] }), undefined)
  assert.equal(await pi.emit("before_agent_start", { systemPrompt: "s", systemPromptOptions: {} }), undefined)
  assert.equal(await pi.emit("session_before_compact", { reason: "threshold" }), undefined)
  assert.deepEqual(pi.tools, [])
  assert.equal(pi.notices.length, 1)
  assert.match(pi.notices[0]!, /MAGICCTX_HOST names \/nowhere\/magicctx-host.*magicctx-host doctor/)
  await pi.shutdown()
})
