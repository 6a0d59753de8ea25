import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { test } from "node:test"

declare const repository: string // defined by the test runner

/** The relative imports of each source file of the shims, types included. */
function imports(): Map<string, string[]> {
  const adapters = join(repository, "adapters")
  const of = new Map<string, string[]>()
  const files = ["opencode-shim", "pi-shim", "shim-core"].flatMap((shim) => {
    const names = readdirSync(join(adapters, shim, "src"), { recursive: true, encoding: "utf8" })
    return names.filter((name) => name.endsWith(".ts")).map((name) => join(shim, "src", name))
  })
  for (const file of files) {
    const text = readFileSync(join(adapters, file), "utf8")
    const paths = [...text.matchAll(/^(?:import|export) .*from "(\.{1,2}\/.*)"$/gm)].map(([, path]) => path!)
    of.set(file, paths.map((path) => relative(adapters, join(adapters, dirname(file), path))))
  }
  return of
}

test("no source file of a shim imports itself, not even through other files", () => {
  const graph = imports()
  assert.ok(graph.get(join("shim-core", "src", "host.ts"))?.includes(join("shim-core", "src", "supervisor.ts")), "the imports were not read")
  const finished = new Set<string>()
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) assert.fail(`an import circle: ${[...path.slice(path.indexOf(file)), file].join(" → ")}`)
    if (finished.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    finished.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
})
