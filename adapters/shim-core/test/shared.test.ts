import assert from "node:assert/strict"
import { test } from "node:test"
import { acquireHost, type Host } from "../src/index.ts"

/** Makes hosts, and lets a test wait for their end. */
function hosts() {
  const made: Array<{ host: Host; stopped: Promise<void>; isStopped: boolean }> = []
  const create = () => {
    let stop!: () => void
    const entry = { isStopped: false, stopped: new Promise<void>((resolve) => (stop = resolve)), host: {} as Host }
    entry.host.stop = async () => {
      entry.isStopped = true
      stop()
    }
    made.push(entry)
    return entry.host
  }
  return { made, create }
}

const never = 3_600_000

test("all users in a process share one host", async () => {
  const { made, create } = hosts()
  const a = acquireHost(create, 0)
  const b = acquireHost(create, 0)
  assert.equal(a.host, b.host)
  a.release()
  a.release() // only the first release counts
  assert.equal(made[0]!.isStopped, false)
  const hold = setTimeout(() => {}, never) // the linger timer alone does not keep the process alive
  b.release()
  await made[0]!.stopped
  clearTimeout(hold)
  const c = acquireHost(create, 0)
  assert.equal(made.length, 2, "a stopped host is not used again")
  c.release()
})

test("a host outlives the moment between dispose and the next start", () => {
  const { made, create } = hosts()
  const a = acquireHost(create, never)
  a.release()
  const b = acquireHost(create, never)
  assert.equal(b.host, a.host)
  assert.deepEqual(made.map(({ isStopped }) => isStopped), made.map(() => false))
})

test("a process that is about to end ends the host for all users, and waits for it", async () => {
  await acquireHost(hosts().create).end() // end the host that the previous test has left
  const { made, create } = hosts()
  const a = acquireHost(create, never)
  const b = acquireHost(create, 0)
  a.release()
  await b.end()
  assert.equal(made[0]!.isStopped, true)
  const c = acquireHost(create, never)
  assert.equal(made.length, 2)
  b.release() // this release changes nothing
  await c.end()
})
