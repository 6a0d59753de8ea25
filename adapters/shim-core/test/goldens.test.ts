import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { Handlers, HostCalls, HostNotifications, ShimCalls } from "../src/index.ts"
import { fakeHost, initialized, opening } from "./fakehost.ts"
import { goldenFiles, hostCalls, hostNotifications, shimCalls, shimNotifications } from "./generated/goldens.ts"

declare const repository: string // defined by the test runner

const keys = <T extends object>(table: T) => Object.keys(table) as Array<keyof T>

// The compiler checks the literals in generated/goldens.ts against the protocol's types. This test checks that the
// literals equal the golden files. So the golden files fit the types, too.
test("the checked goldens are the files that the host's test reads", () => {
  const params = { ...hostNotifications, ...shimNotifications }
  const literals: Record<string, unknown> = { ...hostCalls, ...shimCalls, ...Object.fromEntries(Object.entries(params).map(([name, params]) => [name, { params }])) }
  assert.deepEqual(Object.keys(literals).sort(), Object.keys(goldenFiles).sort())
  for (const [method, file] of Object.entries(goldenFiles)) {
    assert.deepEqual(literals[method], JSON.parse(readFileSync(join(repository, "schema", "testdata", file), "utf8")), method)
  }
})

test("the golden of each call reaches the host, and its result comes back", async (t) => {
  const results = Object.fromEntries(keys(hostCalls).map((method) => [method, hostCalls[method].result]))
  const { host, fake } = fakeHost(t, { results: { ...results, initialize: initialized } })
  await host.open(opening("/p"), {}).opened(20_000)
  fake.follow({ results })
  const call = async <M extends keyof HostCalls>(method: M) => {
    const before = fake.received(method).length
    assert.deepEqual(await host.call(method, hostCalls[method].params, { timeoutMS: 20_000 }), hostCalls[method].result, method)
    assert.deepEqual(fake.received(method).slice(before).map(({ params }) => params), [hostCalls[method].params], method)
  }
  for (const method of keys(hostCalls)) await call(method)
})

test("the golden of each notification reaches the host", async (t) => {
  const { host, fake } = fakeHost(t)
  await host.open(opening("/p"), {}).opened(20_000)
  const send = <M extends keyof HostNotifications>(method: M) => host.notify(method, hostNotifications[method])
  for (const method of keys(hostNotifications)) send(method)
  await host.call("status", {}, { timeoutMS: 20_000 }) // this call is handled after them
  for (const method of keys(hostNotifications)) assert.deepEqual(fake.received(method).map(({ params }) => params), [hostNotifications[method]], method)
})

test("the golden of each callback reaches the instance, and its result comes back", async (t) => {
  const { host, fake } = fakeHost(t)
  const received: unknown[] = []
  const handler = <M extends keyof ShimCalls>(method: M): Handlers => ({
    [method]: async (params: unknown) => {
      received.push(params)
      return shimCalls[method].result
    },
  })
  host.open(opening("/p"), Object.assign({}, ...keys(shimCalls).map(handler)) as Handlers)
  for (const method of keys(shimCalls)) {
    fake.follow({ ask: { status: [method, shimCalls[method].params] } })
    await host.call("status", {}, { timeoutMS: 20_000 })
  }
  assert.deepEqual(received, keys(shimCalls).map((method) => shimCalls[method].params))
  assert.deepEqual(fake.entries().filter((entry) => "answer" in entry).map(({ answer }) => answer), keys(shimCalls).map((method) => shimCalls[method].result))
})
