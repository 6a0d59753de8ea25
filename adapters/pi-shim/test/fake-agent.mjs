// A process of Pi that runs a hidden agent. It follows the script in its prompt, a JSON list of steps:
//
//   {print: text}      writes text to the standard output
//   {complain: text}   writes text to the standard error
//   {answer: message}  writes the event of an answer
//   {log: path}        writes arguments, directory, environment, system prompt and extension to a file
//   {wait: ms}
//   {tool: path}       starts a process that lives for a minute, and writes its id to a file
//   {deaf: true}       ignores SIGTERM from here on
//   {exit: code}       ends
import { spawn } from "node:child_process"
import { readFileSync, statSync, writeFileSync } from "node:fs"

let prompt = ""
for await (const chunk of process.stdin) prompt += chunk
const event = (event) => process.stdout.write(JSON.stringify(event) + "\n")
const args = process.argv.slice(2)

for (const { print, complain, answer, log, wait, tool, deaf, exit } of JSON.parse(prompt)) {
  if (print !== undefined) process.stdout.write(print)
  if (complain !== undefined) process.stderr.write(complain)
  if (answer) event({ type: "message_end", message: { role: "assistant", provider: "p", model: "m", stopReason: "stop", usage: { input: 7 }, timestamp: 1, ...answer } })
  if (log) {
    const file = args[args.indexOf("--system-prompt") + 1]
    const { MAGICCTX_SUBAGENT } = process.env
    const extension = args.includes("--extension") ? readFileSync(args[args.indexOf("--extension") + 1], "utf8") : undefined
    writeFileSync(log, JSON.stringify({ args, cwd: process.cwd(), MAGICCTX_SUBAGENT, system: readFileSync(file, "utf8"), mode: statSync(file).mode & 0o777, file, extension }))
  }
  if (wait) await new Promise((resolve) => setTimeout(resolve, wait))
  if (tool) writeFileSync(tool, String(spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"], { stdio: "ignore" }).pid))
  if (deaf) process.on("SIGTERM", () => {})
  if (exit !== undefined) process.exit(exit)
}
