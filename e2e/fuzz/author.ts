import type { Model } from "./provider.ts"
import { prose, sectioned, type Random } from "./random.ts"

export type Kind = "calls" | "text" | "aborted" | "empty"

export class Author {
  private readonly visibleTags: () => number[]

  /** visibleTags returns the tags that the model has seen. */
  constructor(visibleTags: () => number[]) {
    this.visibleTags = visibleTags
  }

  shape(kind: Kind, random: Random): string[] {
    const thinks = random.weighted({ none: 25, one: 45, two: 10, redacted: 5, mixed: 8, interleaved: 7 })
    const head = { none: [], one: ["thinking"], two: ["thinking", "thinking"], redacted: ["redacted"], mixed: ["thinking", "redacted"], interleaved: ["thinking"] }[thinks]
    const late = thinks === "interleaved" ? ["text", "thinking"] : []
    const calls = Array<string>(random.weighted({ 1: 50, 2: 15, 3: 15, 4: 12, 5: 8 }) === "1" ? 1 : random.int(2, 5)).fill("call")
    switch (kind) {
      case "calls": {
        const text = random.weighted({ before: 45, none: 40, after: 8, blank: 7 })
        return [...head, ...late, ...(text === "before" ? ["text"] : text === "blank" ? ["blank"] : []), ...calls, ...(text === "after" ? ["text"] : [])]
      }
      case "text":
        return [...head, ...late, "text", ...(random.chance(0.1) ? ["text"] : [])]
      case "empty":
        return random.chance(0.5) ? ["blank"] : head
      case "aborted":
        return random.pick([[], head, [...head, "text"], [...head, ...calls], [...head, "text", ...calls]])
    }
  }

  /** A reasoning part, signed as the model's provider signs. */
  proof(random: Random, proof: Model["proof"], piece: "thinking" | "redacted"): { text: string; metadata?: Record<string, unknown> } {
    const text = prose(random, random.pick([60, 300, 1200]))
    const mark = random.id(random.pick([40, 200]))
    if (!proof) return { text }
    if (proof === "openai") return { text: random.chance(0.5) ? text : "", metadata: { openai: { itemId: `rs_${mark}`, reasoningEncryptedContent: random.id(200) } } }
    if (piece === "redacted") return { text: "", metadata: { [proof]: { redactedData: mark } } }
    return { text, metadata: { [proof]: { signature: mark } } }
  }

  /**
   * With the given probability, returns something that looks like a tag, for the start of a text. Mostly, it is a tag
   * that the model has seen.
   */
  lead(random: Random, probability: number): string {
    if (!random.chance(probability)) return ""
    const tags = this.visibleTags()
    if (tags.length === 0) return ""
    const tag = random.pick(tags)
    return random.weighted({ exact: 6, twice: 1, imitation: 1, unknown: 1 }) === "exact" ? `§${tag}§ ` : random.pick([`§${tag}§ §${tag}§ `, `§${tag}§`, `§${tag}">§${tag}§ `, `§${tag + 5000}§ `])
  }

  /** With mustReduce, the model always asks for a drop. Without canReduce, it never does. */
  call(random: Random, mustReduce: boolean, canReduce: boolean): { tool: string; input: Record<string, unknown> } {
    const file = `/project/src/${random.pick(["main", "store", "wire", "pass", "rule", "text"])}${random.int(1, 4)}.ts`
    if (mustReduce && this.visibleTags().length > 0) return { tool: "ctx_reduce", input: { drop: String(Math.max(...this.visibleTags())) } }
    const tools = { read: 30, bash: 20, grep: 8, write: 8, edit: 8, todowrite: 4, task: 3, webfetch: 3, ctx_reduce: 12 }
    const tool = random.weighted(tools)
    switch (tool) {
      case "read":
        return { tool, input: { filePath: file, ...(random.chance(0.3) && { offset: random.int(1, 500) }) } }
      case "bash":
        return { tool, input: { command: `go test ./${random.id(4)} # ${sectioned(random, 20)}`, description: "Runs tests" } }
      case "grep":
        return { tool, input: { pattern: random.pick(["§\\d+", "TODO", random.id(5)]), path: "/project" } }
      case "write":
        return { tool, input: { filePath: file, content: sectioned(random, random.pick([200, 1500, 5000])) } }
      case "edit":
        return { tool, input: { filePath: file, oldString: prose(random, 100), newString: sectioned(random, random.pick([100, 800])) } }
      case "todowrite":
        return { tool, input: { todos: Array.from({ length: random.int(1, 4) }, (_, i) => ({ content: `Do thing ${i} ${random.id(3)}`, status: random.pick(["pending", "in_progress", "completed"]), priority: "medium" })) } }
      case "task":
        return { tool, input: { description: "Look", prompt: prose(random, 400), subagent_type: "general" } }
      case "webfetch":
        return { tool, input: { url: `https://example.org/${random.id(5)}`, format: "markdown" } }
      case "ctx_reduce": {
        const tags = this.visibleTags().sort((a, b) => a - b)
        if (!canReduce || tags.length === 0) return { tool: "read", input: { filePath: file } }
        const some = Array.from({ length: random.int(1, 5) }, () => (random.chance(0.7) ? tags[Math.floor(random.next() ** 2 * tags.length)]! : random.pick(tags)))
        const low = random.int(1, Math.max(...tags))
        return { tool, input: { drop: random.weighted({ list: 8, range: 2, wrong: 0.5 }) === "list" ? some.join(",") : random.chance(0.8) ? `${low}-${low + random.int(0, 4)}` : random.pick(["", "all", "99999", "§3§"]) } }
      }
    }
  }

  output(random: Random): string {
    const length = random.pick([0, 30, 200, 600, 1500, 1500, 3000, 6000, 12_000])
    if (length === 0) return random.chance(0.8) ? "" : "\n"
    return random.chance(0.4) ? sectioned(random, length, this.lead(random, 0.1)) : prose(random, length)
  }
}
