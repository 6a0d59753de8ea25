import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"

declare const repository: string // defined by the test runner

const shim = join(repository, "adapters", "pi-shim")

test("each test that PARITY.md names is there", () => {
  const page = readFileSync(join(shim, "PARITY.md"), "utf8")
  let names = 0
  for (const row of page.split("\n").filter((line) => line.startsWith("| "))) {
    const cell = row.split("|").at(-2)!
    let file: string | undefined
    for (const [, path, name] of cell.matchAll(/`([^`]+)`|"([^"]+)"/g)) {
      if (path?.startsWith("Test")) { // this is a test in Go
        assert.ok(readFileSync(file!, "utf8").includes(`func ${path}(`), `PARITY.md names ${path}, which ${file} does not have`)
        names++
        continue
      }
      if (path) {
        file = [join(shim, "test", path), join(shim, path), join(repository, path)].find((candidate) => existsSync(candidate))
        assert.ok(file, `PARITY.md names ${path}, which is not there`)
        continue
      }
      const isThere = readFileSync(file!, "utf8").match(/^(?:  )?test\([`"](.*)[`"], /gm)?.some((line) => line.includes(name!.replace(/…$/, "")))
      // The projection's tests are named after the vectors that they read, so these names are not in the test file.
      assert.ok(isThere || name!.startsWith("projection "), `PARITY.md names the test ${JSON.stringify(name)}, which ${file} does not have`)
      names++
    }
  }
  assert.ok(names > 30, `only ${names} names were read`)
})
