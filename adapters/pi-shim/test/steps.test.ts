import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { Random } from "../../shim-core/test/random.ts"
import type { Message } from "../src/pi.ts"
import { flatten, join, keyOf } from "../src/steps.ts"
import { assistant, call, result, user } from "./fake-pi.ts"

declare const repository: string // defined by the test runner

const shape = (messages: Message[]) => join(messages).map(({ id, results }) => [id, results?.length ?? 0])

test("an answer and the results directly after it are one step", () => {
  const messages = [user("go", 1), assistant([call("a"), call("b")], {}, 2), result("a", "A", 3), result("b", "B", 3), user("on", 4)]
  assert.deepEqual(shape(messages), [["user:1", 0], ["assistant:2", 2], ["user:4", 0]])
  assert.deepEqual(flatten(join(messages)), messages)
})

test("a result that no answer stands before is a step of its own", () => {
  const messages = [result("x", "X", 1), user("go", 2), result("y", "Y", 3), assistant([], {}, 4), user("steer", 5), result("z", "Z", 6)]
  assert.deepEqual(shape(messages), [["toolResult:1:x", 0], ["user:2", 0], ["toolResult:3:y", 0], ["assistant:4", 0], ["user:5", 0], ["toolResult:6:z", 0]])
  assert.deepEqual(flatten(join(messages)), messages)
})

// Pi does not send a failed answer, but it would still send the results of the answer's calls. No provider accepts
// results without their calls.
test("the results of an answer that has failed stay with it, and are not sent", () => {
  for (const stopReason of ["aborted", "error"]) {
    const messages = [user("go", 1), assistant([call("a")], { stopReason }, 2), result("a", "A", 3), user("on", 4)]
    assert.deepEqual(shape(messages), [["user:1", 0], ["assistant:2", 1], ["user:4", 0]])
    assert.deepEqual(flatten(join(messages)).map(({ role }) => role), ["user", "assistant", "user"])
  }
})

test("keys use what Pi copies unchanged, and not what it makes anew", () => {
  const custom = (timestamp: number, content: unknown = "note") => ({ role: "custom", customType: "other", content, timestamp }) as Message
  assert.equal(keyOf(custom(1)), keyOf(custom(2)))
  assert.notEqual(keyOf(custom(1)), keyOf(custom(1, "other note")))
  assert.match(keyOf(custom(1)), /^custom:other:[0-9a-f]{12}$/)
  const branch = (timestamp: number) => ({ role: "branchSummary", fromId: "ab12cd34", summary: "s", timestamp }) as Message
  assert.deepEqual([keyOf(branch(1)), keyOf(branch(2))], ["branchSummary:ab12cd34", "branchSummary:ab12cd34"])
  assert.equal(keyOf({ role: "compactionSummary", timestamp: 7 }), "compactionSummary:7")
  assert.equal(keyOf({ role: "bashExecution", timestamp: 8 }), "bashExecution:8")
  assert.equal(keyOf({ role: "hologram", timestamp: 9 }), "hologram:9", "a role that this version does not know")
})

test("a second message with the same key gets a number", () => {
  const messages = [user("one", 1), user("two", 1), user("three", 1), assistant([], {}, 1)]
  assert.deepEqual(join(messages).map(({ id }) => id), ["user:1", "user:1#2", "user:1#3", "assistant:1"])
})

test("a clock that jumps back changes no key", () => {
  const messages = [user("one", 2_000), assistant([], {}, 1_000), user("two", 500)]
  assert.deepEqual(join(messages).map(({ id }) => id), ["user:2000", "assistant:1000", "user:500"])
})

test("messages without a timestamp, and things that are no messages, get keys and stay", () => {
  const odd = [{ role: "user", content: "by hand" }, null, {}, "text", { role: "user", content: "by hand" }] as never[]
  const steps = join(odd)
  assert.equal(new Set(steps.map(({ id }) => id)).size, odd.length)
  assert.match(steps[0]!.id, /^user:[0-9a-f]{12}$/)
  assert.equal(steps[4]!.id, `${steps[0]!.id}#2`)
  assert.deepEqual(flatten(steps).length, 4, "null is no message")
})

// An extension that runs before this one may return the session's own message objects. If the shim changed them, Pi
// would store the changes.
test("a patch of a step does not reach Pi's own messages", () => {
  const messages = [user("go", 1), assistant([{ type: "text", text: "ok" }, call("a")], {}, 2), result("a", "A", 3)]
  const before = structuredClone(messages)
  for (const { message, results } of join(messages)) {
    for (const one of [message!, ...(results ?? [])]) {
      const content = one.content as Array<{ text?: string }>
      for (const block of content) block.text = "changed"
      content.push({})
      one.timestamp = 0
    }
  }
  assert.deepEqual(messages, before)
})

test("a step without its message leaves nothing behind", () => {
  const steps = join([user("go", 1), assistant([call("a")], {}, 2), result("a", "A", 3), user("on", 4)])
  delete steps[1]!.message
  assert.deepEqual(flatten(steps).map(({ timestamp }) => timestamp), [1, 4])
})

test("flattening is the reverse of joining, for any order of messages", () => {
  for (let seed = 0; seed < 2_000; seed++) {
    const random = new Random(seed)
    const messages = Array.from({ length: random.below(12) }, (): Message => {
      const timestamp = random.below(5)
      switch (random.below(4)) {
        case 0:
          return user("u", timestamp)
        case 1:
          return assistant([call("a")], {}, timestamp)
        case 2:
          return result(random.pick(["a", "b"]), "r", timestamp)
        default:
          return { role: "custom", customType: "c", content: random.pick(["x", "y"]), timestamp } as Message
      }
    })
    const steps = join(messages)
    assert.deepEqual(flatten(steps), messages, `seed ${seed}`)
    assert.equal(new Set(steps.map(({ id }) => id)).size, steps.length, `seed ${seed}: keys are unique`)
  }
})

// The host reads Pi's session files as well. It must find the same steps as the shim, with the same keys.
const vectors = JSON.parse(readFileSync(`${repository}/internal/rawhistory/testdata/pi-steps.json`, "utf8")) as Array<{ name: string; messages: Message[]; steps: Array<[string, number]> }>

for (const { name, messages, steps } of vectors) {
  test(`the host's reader agrees: ${name}`, () => assert.deepEqual(shape(messages), steps))
}
