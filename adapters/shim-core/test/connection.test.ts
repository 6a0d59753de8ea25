import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { EventEmitter, once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough, Writable } from "node:stream"
import { test, type TestContext } from "node:test"
import { CancellationTokenSource, createMessageConnection, ResponseError, StreamMessageReader, StreamMessageWriter, type CancellationToken } from "vscode-jsonrpc/node"
import { Connection, ConnectionClosed, encodeFrame, RpcError } from "../src/index.ts"

/**
 * Returns both ends of a connection. Our own code is at one end, and vscode-jsonrpc, the reference implementation of
 * the framing, is at the other end.
 */
function connect(t: TestContext, serve: (method: string, params: unknown, signal: AbortSignal) => Promise<unknown> = async () => ({})) {
  const toPeer = new PassThrough()
  const fromPeer = new PassThrough()
  const peer = createMessageConnection(new StreamMessageReader(toPeer), new StreamMessageWriter(fromPeer))
  const ours = new Connection(fromPeer, toPeer, serve)
  t.after(() => {
    ours.close(new Error("the test is over"))
    peer.dispose()
  })
  return { ours, peer, fromPeer }
}

test("requests and notifications are understood in both directions", async (t) => {
  const { ours, peer } = connect(t, async (method, params) => ({ method, params }))
  const notified = new Promise((resolve) => peer.onNotification("note", resolve))
  peer.onRequest("echo", (params: object) => ({ got: params }))
  peer.listen()
  ours.notify("note", { text: "§ 😀" })
  assert.deepEqual(await notified, { text: "§ 😀" })
  assert.deepEqual(await ours.request("echo", { text: "é\ud800" }).answer, { got: { text: "é\ud800" } })
  assert.deepEqual(await peer.sendRequest("theirs", { a: 1 }), { method: "theirs", params: { a: 1 } })
})

test("a request tells when its last byte is written", async () => {
  const writes: Array<() => void> = []
  const output = new Writable({ highWaterMark: 1, write: (_, __, done) => void writes.push(done) })
  const ours = new Connection(new PassThrough(), output, async () => ({}))
  let sent = 0
  void ours.request("pass", {}, "[1,2,3]", () => sent++).answer.catch(() => {})
  assert.deepEqual([writes.length, sent], [1, 0])
  writes[0]!()
  await new Promise(setImmediate)
  assert.equal(sent, 1)
  ours.close(new Error("the test is over"))
})

test("a small request leaves before the event loop turns", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "magicctx-"))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const received = join(directory, "received")
  const child = spawn(process.execPath, ["-e", `process.stdin.on("data", (chunk) => require("fs").appendFileSync(${JSON.stringify(received)}, chunk))`])
  t.after(() => child.kill())
  const ours = new Connection(child.stdout, child.stdin, async () => ({}))
  void ours.request("pass", {}, "[]").answer.catch(() => {})
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  for (let ms = 0; ms < 20_000 && !(existsSync(received) && readFileSync(received, "utf8").includes("[]")); ms += 10) Atomics.wait(sleeper, 0, 0, 10)
  assert.ok(existsSync(received), "the child has read nothing yet")
  assert.match(readFileSync(received, "utf8"), /\[\] *$/)
  ours.close(new Error("the test is over"))
})

test("errors keep their codes in both directions", async (t) => {
  const { ours, peer } = connect(t, async () => {
    throw new RpcError(-32010, "resync")
  })
  peer.onRequest("fail", () => new ResponseError(-32011, "disabled"))
  peer.listen()
  await assert.rejects(ours.request("fail", {}).answer, (err) => err instanceof RpcError && err.code === -32011 && err.message === "disabled")
  await assert.rejects(peer.sendRequest("theirs", {}), (err) => err instanceof ResponseError && err.code === -32010)
})

test("cancelling reaches the handler in both directions", async (t) => {
  const signals = new EventEmitter()
  const once = (event: string) => new Promise((resolve) => signals.once(event, resolve))
  const { ours, peer } = connect(t, (_, __, signal) => {
    signals.emit("we serve")
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve("cancelled")))
  })
  peer.onRequest("slow", (_: object, token: CancellationToken) => {
    signals.emit("they serve")
    return new Promise<object>((resolve) => token.onCancellationRequested(() => (signals.emit("they are cancelled"), resolve({}))))
  })
  peer.listen()

  const theyServe = once("they serve")
  const theyAreCancelled = once("they are cancelled")
  const call = ours.request("slow", {})
  await theyServe
  call.cancel(new Error("changed my mind"))
  await assert.rejects(call.answer, /changed my mind/)
  await theyAreCancelled

  const weServe = once("we serve")
  const source = new CancellationTokenSource()
  const theirs = peer.sendRequest("theirs", {}, source.token)
  await weServe
  source.cancel()
  assert.equal(await theirs, "cancelled")
})

test("all requests under way fail together when the other end is gone", async (t) => {
  const { ours, fromPeer } = connect(t)
  const calls = [ours.request("a", {}).answer, ours.request("b", {}).answer]
  fromPeer.end()
  for (const call of calls) await assert.rejects(call, ConnectionClosed)
  assert.throws(() => ours.request("c", {}), ConnectionClosed)
  assert.match((await ours.closed).message, /closed its output/)
})

test("answers of an end that no longer reads still arrive", async () => {
  const fromPeer = new PassThrough()
  const deaf = new Writable({ write: (_, __, done) => done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })) })
  const ours = new Connection(fromPeer, deaf, async () => ({}))
  const answered = ours.request("first", {}).answer
  const lost = ours.request("second", {}).answer
  await once(deaf, "error")
  assert.equal(ours.isWritable, false)
  assert.throws(() => ours.notify("third", {}), ConnectionClosed)
  fromPeer.write(encodeFrame(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { late: true } })))
  assert.deepEqual(await answered, { late: true })
  fromPeer.end()
  await assert.rejects(lost, ConnectionClosed)
})

test("an end that no longer reads, and does not close, is given up", async () => {
  const deaf = new Writable({ write: (_, __, done) => done(new Error("write EPIPE")) })
  const ours = new Connection(new PassThrough(), deaf, async () => ({}))
  const keepAlive = setTimeout(() => {}, 20_000)
  await assert.rejects(ours.request("first", {}).answer, ConnectionClosed)
  clearTimeout(keepAlive)
})

test("a stream that is not the protocol ends the connection", async (t) => {
  const { ours, fromPeer } = connect(t)
  const call = ours.request("a", {}).answer
  fromPeer.write("Hello, I am not a host.\r\n\r\n")
  await assert.rejects(call, ConnectionClosed)
})
