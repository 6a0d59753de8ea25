import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { files } from "../gen/files.ts"

declare const repository: string // defined by the test runner

for (const [name, content] of Object.entries(files)) {
  test(`${name} is what its declaration says`, () => {
    assert.equal(readFileSync(join(repository, "adapters", name), "utf8"), content, "stale: run npm run generate")
  })
}
