import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

declare const repository: string // defined by the test runner

/** The vectors of schema/testdata/<kind>, which the Go tests read too. */
export function vectors<T>(kind: string): Array<[name: string, vector: T]> {
  const dir = join(repository, "schema", "testdata", kind)
  const found = readdirSync(dir).filter((name) => name.endsWith(".json"))
  if (found.length === 0) throw new Error(`no vectors in ${dir}`)
  return found.map((name) => [name, JSON.parse(readFileSync(join(dir, name), "utf8")) as T])
}
