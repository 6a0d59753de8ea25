import assert from "node:assert/strict"
import { test } from "node:test"
import { Notices } from "../src/notices.ts"

// OpenCode shows one toast at a time, so the second notice waits until the first toast is over.
test("two warnings are two visible notices, one after the other", () => {
  const shown: string[] = []
  const timers: Array<() => void> = []
  const notices = new Notices((text) => shown.push(text), (body) => timers.push(body))
  notices.add(() => "one is odd")
  notices.add(() => "two is odd")
  assert.deepEqual(shown, [], "nobody looks yet")
  notices.userIsHere()
  notices.userIsHere()
  assert.deepEqual(shown, ["one is odd"])
  timers.shift()!()
  assert.deepEqual(shown, ["one is odd", "two is odd"])
  notices.add(() => "three is odd")
  assert.equal(shown.length, 2)
  timers.shift()!()
  timers.shift()!()
  assert.deepEqual(shown, ["one is odd", "two is odd", "three is odd"])
  assert.deepEqual(timers, [])
})

test("trouble does not wait for the notice before it", () => {
  const shown: string[] = []
  const timers: Array<() => void> = []
  const notices = new Notices((text) => shown.push(text), (body) => timers.push(body))
  notices.userIsHere()
  notices.add(() => "one is odd")
  notices.add(() => "two is odd")
  notices.addTrouble(() => "it does not work")
  assert.deepEqual(shown, ["one is odd", "it does not work"])
  timers.shift()!() // this timer was set for the first notice, before the trouble
  assert.equal(shown.length, 2)
  timers.shift()!()
  assert.deepEqual(shown, ["one is odd", "it does not work", "two is odd"])
})

// Fixed bug: a notice of a bust has about 35 words, but it disappeared after 5 s.
test("a notice stays as long as a person needs to read it", () => {
  const shown: number[] = []
  const notices = new Notices<{ message: string }>((_, ms) => shown.push(ms), (body, ms) => (shown.push(ms), body()))
  notices.userIsHere()
  for (const words of [3, 36, 100]) notices.add(() => ({ message: "word ".repeat(words).trim() }))
  assert.deepEqual(shown, [6_000, 6_000, 11_988, 11_988, 15_000, 15_000])
})
