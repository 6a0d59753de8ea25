// Collects the licences of the code in the host. Their texts must be shipped with the binary.
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const licence = /^(licen[cs]e|copying|notice)/i

/** The licence texts of Go and of all modules linked into the host, when it is built with env. */
export function notices(repository, env) {
  const go = (...args) => execFileSync("go", args, { cwd: repository, env, encoding: "utf8" }).trim()
  const template = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
  const modules = [...new Set(go("list", "-deps", "-f", template, "./cmd/magicctx-host").split("\n"))].filter(Boolean).sort()
  return [`Go\t${go("env", "GOROOT")}`, ...modules].map((line) => notice(...line.split("\t"))).join(`\n${"-".repeat(72)}\n\n`)
}

function notice(name, folder) {
  const files = readdirSync(folder).filter((file) => licence.test(file)).sort()
  if (!files.length) throw new Error(`${name} has no licence text in ${folder}`)
  return [`${name}\n`, ...files.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n"))].join("\n")
}
