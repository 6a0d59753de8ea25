import { appendFileSync, readFileSync } from "node:fs"
import { manners, summarise, type Manner } from "./historian.ts"
import { Random } from "./random.ts"

/** Plays the Pi process of the historian: reads the prompt, prints the events of one answer, and ends. */
export async function runAgent(): Promise<never> {
  const { MAGICCTX_FUZZ_PROMPTS: prompts = "", MAGICCTX_FUZZ_MANNER: given = "good" } = process.env
  const prompt = readFileSync(0, "utf8")
  appendFileSync(prompts, `${JSON.stringify(prompt)}\n`)
  const random = Random.of("summary", prompt)
  const manner = manners.find((one) => one === given) ?? random.pick<Manner>(manners)
  const { text, error, waitMS } = summarise(manner, prompt, random)
  if (waitMS > 0) await new Promise((resolve) => setTimeout(resolve, waitMS))
  const usage = { input: 1000, output: 200, cacheRead: 0, cacheWrite: 0 }
  const message = { role: "assistant", provider: "p", model: "m", usage, stopReason: error ? "error" : "stop", timestamp: Date.now(), content: [{ type: "text", text }], ...(error && { errorMessage: error }) }
  const lines = [{ type: "message_end", message }, { type: "agent_end" }].map((event) => `${JSON.stringify(event)}\n`)
  await new Promise((resolve) => process.stdout.write(lines.join(""), resolve))
  process.exit(0)
}
