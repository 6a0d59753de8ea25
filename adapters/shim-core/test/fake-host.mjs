#!/usr/bin/env node
// A fake host for tests of the shims. It uses none of the code that it tests. The directory $FAKE_HOST contains two
// files. The host reads script.json again for each message that arrives, and appends each start and each message to
// log.jsonl. The members of script.json are:
//
//   results   method -> result           silent   methods that get no answer
//   errors    method -> {code, message}  dieOn    {method: n or [n, m]}: the nth start dies when the method arrives
//   stopOn    {method: n}: the nth start refuses the method, as a host that is stopping does, and then ends
//   ask       method -> [method, params] of a request that the host sends before it answers
//   tell      method -> [method, params] of a notification that the host sends before it answers
//   deadly    method: every start dies when this method arrives
//   hostPids  the process id that each start reports; equal ids look like two bridges to the same host
//   deaf      true: the host does not answer a request that the shim has cancelled
//   passes    {n: what happens to the nth session/transform}: "forget" the arrays first, stay "silent",
//             answer an "error", answer a mutation that is "bad" or has one patch that is "unfit", be "hard", or "die"
//   drops     {n: id}: from the nth session/transform on, the text of that message is gone
//   edits     {n: {id: patch}}: patches that the answer to the nth session/transform contains
//   heads     {n: {start, head}}: the head that the answer to the nth session/transform contains
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"

const dir = process.env.FAKE_HOST
const read = () => JSON.parse(readFileSync(join(dir, "script.json"), "utf8"))
let script = read()
const logFile = join(dir, "log.jsonl")
const record = (entry) => appendFileSync(logFile, JSON.stringify(entry) + "\n")
record({ start: process.argv.slice(2) })
const start = readFileSync(logFile, "utf8").split("\n").filter((line) => line.startsWith('{"start"')).length
if (script.brokenStarts >= start) process.exit(3)
process.stderr.write(`start ${start}\n`)

const sessions = new Map()
let asked = 0
const asking = new Map()

function send(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }))
  process.stdout.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]))
}

function ask(method, params) {
  const id = `h${++asked}`
  send({ id, method, params })
  return new Promise((resolve) => asking.set(id, resolve))
}

/** The path of the first text of a message; undefined if it has none. */
function textPath({ text, parts, message }) {
  const first = (list, path) => {
    if (typeof list === "string") return path
    const at = list?.findIndex(({ type }) => type === "text") ?? -1
    return at < 0 ? undefined : `${path}/${at}/text`
  }
  if (text !== undefined) return "/text"
  return message ? first(message.content, "/message/content") : first(parts, "/parts")
}

/** Stores arrays as a host does, and tags the text of each message. */
function transform({ session, base, keep }, tail) {
  const held = sessions.get(session)
  if (base !== 0 && held?.revision !== base) return { error: { code: -32010, message: "resync" } }
  const messages = [...(held?.messages.slice(0, keep) ?? []), ...tail]
  const revision = (held?.revision ?? start * 1000) + 1
  sessions.set(session, { revision, messages })
  const edits = {}
  for (const message of tail) {
    const id = message.info?.id ?? message.id
    const path = textPath(message)
    if (path) edits[id] = [{ op: "prepend", path, value: `§${id}§ ` }]
  }
  return { result: { revision, verdict: "steady", start: 0, edits, wire: `wire ${revision}` } }
}

function pass(id, params, attachment) {
  const n = readFileSync(logFile, "utf8").split('{"method":"session/transform"').length - 1
  const happens = script.passes?.[n]
  if (happens === "die") process.exit(1)
  if (happens === "forget") sessions.clear()
  const answer = happens === "error" ? { error: { code: -32603, message: "scripted" } } : transform(params, JSON.parse(attachment))
  const dropped = script.drops?.[n]
  if (dropped) answer.result.edits[dropped] = [{ op: "replace", path: "/text", value: "" }]
  Object.assign(answer.result?.edits ?? {}, script.edits?.[n])
  Object.assign(answer.result ?? {}, script.heads?.[n])
  if (happens === "bad") answer.result.start = 1e6
  if (happens === "hard") answer.result.verdict = "hard"
  if (happens === "unfit") Object.values(answer.result.edits)[0].push({ op: "remove", path: "/nowhere" })
  if (happens !== "silent") send({ id, ...answer })
}

async function receive({ id, method, params, result, error }, attachment) {
  if (method === undefined) {
    record({ answer: result ?? error })
    asking.get(id)?.()
    return
  }
  script = read()
  record({ method, params, ...(attachment && { attachment: JSON.parse(attachment) }) })
  if ([script.dieOn?.[method]].flat().includes(start) || script.deadly === method) process.exit(1)
  if (method === "$/cancelRequest" && !script.deaf) send({ id: params.id, error: { code: -32800, message: "cancelled" } })
  if (script.stopOn?.[method] === start) {
    send({ id, error: { code: -32015, message: `${method}: the host is stopping` } })
    setTimeout(() => process.exit(0), 100) // it finishes the running calls
    return
  }
  if (id === undefined || script.silent?.includes(method)) return
  if (script.tell?.[method]) send({ method: script.tell[method][0], params: script.tell[method][1] })
  if (script.ask?.[method]) await ask(...script.ask[method])
  if (script.errors?.[method]) send({ id, error: script.errors[method] })
  else if (method === "initialize" && script.hostPids) send({ id, result: { ...script.results.initialize, hostPid: script.hostPids[start - 1] } })
  else if (script.results?.[method]) send({ id, result: script.results[method] })
  else if (method === "session/transform") pass(id, params, attachment)
  else send({ id, result: {} })
}

let buffer = Buffer.alloc(0)
process.stdin.on("data", (chunk) => {
  buffer = Buffer.concat([buffer, chunk])
  for (;;) {
    const end = buffer.indexOf("\r\n\r\n")
    if (end < 0) return
    const header = buffer.subarray(0, end).toString()
    const length = (name) => Number(new RegExp(`${name}: (\\d+)`).exec(header)?.[1] ?? 0)
    const body = end + 4
    const attachment = body + length("Content-Length")
    const next = attachment + length("Attachment-Length")
    if (buffer.length < next) return
    void receive(JSON.parse(buffer.subarray(body, attachment)), buffer.subarray(attachment, next).toString() || undefined)
    buffer = buffer.subarray(next)
  }
})
process.stdin.on("end", () => {
  record({ end: true })
  process.exit(0)
})
