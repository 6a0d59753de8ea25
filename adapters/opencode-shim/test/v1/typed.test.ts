import assert from "node:assert/strict"
import { test } from "node:test"
import { load, pass, user } from "./fake-opencode.ts"

const text = (text: string, more = {}) => ({ type: "text", text, ...more })

test("the line of a command is told to the host with the message that holds its template", async (t) => {
  const { hooks, received } = await load(t)
  const sessionID = "ses_typed"
  const typed = async () => {
    await pass(hooks, [user("u0", "hello", {}, sessionID), user("u1", "Make a report on main.", {}, sessionID)])
    return received("session/transform").at(-1)!.params!.typed
  }
  const stored = (id: string, ...parts: object[]) => hooks["chat.message"]!({ sessionID }, { message: { id, time: { created: 1 } }, parts })
  const command = (...parts: object[]) => hooks["command.execute.before"]!({ sessionID, command: "report", arguments: "main " }, { parts })

  await command({ type: "subtask", prompt: "Make a report on main." })
  await stored("u0", text("hello"))
  assert.equal(await typed(), undefined)
  await command(text("Make a report on main."), { type: "file" })
  await stored("u2", text("typed in the meantime"))
  await stored("u1", text("Called the Read tool", { synthetic: true }), text("Make a report on main."))
  assert.deepEqual(await typed(), { u1: "/report main" })
  assert.equal(await typed(), undefined, "the host has it")
  await stored("u3", text("Make a report on main."))
  assert.equal(await typed(), undefined, "the user typed it")
})
