import assert from "node:assert/strict"
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { maxLogBytes, openLog } from "../src/log.ts"

test("B10: the log of a process that runs for long keeps two files of bounded size", () => {
  const home = mkdtempSync(join(tmpdir(), "magicctx-log-"))
  const before = process.env["TMPDIR"]
  process.env["TMPDIR"] = home
  try {
    const log = openLog("t")
    const line = new Uint8Array(64 * 1024)
    for (let written = 0; written < 3 * maxLogBytes; written += line.length) log.raw(line)
    const dir = join(home, readdirSync(home)[0]!)
    const files = readdirSync(dir).sort()
    assert.deepEqual(files, [`t-${process.pid}.log`, `t-${process.pid}.old.log`])
    for (const file of files) {
      const size = statSync(join(dir, file)).size
      assert.ok(size > 0 && size <= maxLogBytes, `${file} has ${size} bytes`)
    }
  } finally {
    if (before === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = before
    rmSync(home, { recursive: true, force: true })
  }
})
