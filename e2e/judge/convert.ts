// Converts OpenCode's array to the body of the provider's request, with the packages that OpenCode uses. The fetch
// function of each provider stores the body and throws, so no request is sent.
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock"
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createVertexAnthropic } from "@ai-sdk/google-vertex/anthropic"
import { createMistral } from "@ai-sdk/mistral"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import type { LanguageModelV3 } from "@ai-sdk/provider"
import { convertToModelMessages } from "ai"
import { convertToLanguageModelPrompt, standardizePrompt } from "ai/internal"
import { type Message, type Target, adapt, asked, modelOutput, namespaceOf, toUI } from "./opencode.ts"

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Body = any

/**
 * A package that converts prompts to requests of its provider. `api` is the id of the model that is used if a request
 * names none.
 */
export interface Converter {
  npm: string
  api: string
  open(fetch: typeof globalThis.fetch, api: string): LanguageModelV3
  /** The package's own options for a request, for example to switch on thinking. */
  options?: Record<string, unknown>
}

const key = { apiKey: "none" }

export const converters = {
  anthropic: {
    npm: "@ai-sdk/anthropic",
    api: "claude-sonnet-4-5",
    open: (fetch, api) => createAnthropic({ ...key, fetch })(api),
    options: { thinking: { type: "enabled", budgetTokens: 4000 } },
  },
  vertex: {
    npm: "@ai-sdk/google-vertex/anthropic",
    api: "claude-sonnet-4-5@20250929",
    open: (fetch, api) => createVertexAnthropic({ project: "p", location: "us-east5", generateAuthToken: async () => "none", fetch })(api),
    options: { thinking: { type: "enabled", budgetTokens: 4000 } },
  },
  bedrock: {
    npm: "@ai-sdk/amazon-bedrock",
    api: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    open: (fetch, api) => createAmazonBedrock({ ...key, region: "us-east-1", fetch })(api),
    options: { reasoningConfig: { type: "enabled", budgetTokens: 4000 } },
  },
  openai: {
    npm: "@ai-sdk/openai",
    api: "gpt-5.2",
    open: (fetch, api) => createOpenAI({ ...key, fetch }).responses(api),
    options: { store: false, include: ["reasoning.encrypted_content"], reasoningEffort: "medium" },
  },
  "openai-chat": {
    npm: "@ai-sdk/openai",
    api: "gpt-4.1",
    open: (fetch, api) => createOpenAI({ ...key, fetch }).chat(api),
    options: { store: false },
  },
  // OpenCode's package for Copilot is a part of OpenCode and in no registry. It sends the same dialect as the package
  // for OpenAI-compatible services, so the judge uses that package instead.
  copilot: {
    npm: "@ai-sdk/github-copilot",
    api: "gpt-4.1",
    open: (fetch, api) => createOpenAICompatible({ name: "copilot", baseURL: "http://judge.invalid/v1", fetch })(api),
  },
  "openai-compatible": {
    npm: "@ai-sdk/openai-compatible",
    api: "some-model",
    open: (fetch, api) => createOpenAICompatible({ name: "local", baseURL: "http://judge.invalid/v1", fetch })(api),
  },
  google: {
    npm: "@ai-sdk/google",
    api: "gemini-3-pro-preview",
    open: (fetch, api) => createGoogleGenerativeAI({ ...key, fetch })(api),
    options: { thinkingConfig: { includeThoughts: true } },
  },
  mistral: {
    npm: "@ai-sdk/mistral",
    api: "mistral-large-latest",
    open: (fetch, api) => createMistral({ ...key, fetch })(api),
  },
  // OpenCode sends the prompt to a gateway without any changes, in the SDK's own form. The gateway then uses
  // Anthropic's package for Claude, so this converter does the same.
  gateway: {
    npm: "@ai-sdk/gateway",
    api: "anthropic/claude-sonnet-4.5",
    open: (fetch) => createAnthropic({ ...key, fetch })("claude-sonnet-4-5"),
    options: { thinking: { type: "enabled", budgetTokens: 4000 } },
  },
} satisfies Record<string, Converter>

export type ConverterName = keyof typeof converters

/** The package's error for an array that it cannot convert for its provider. */
export class Refusal extends Error {}

class Kept extends Error {}

const System = "You are a coding agent."

export interface Request {
  array: Message[]
  /** The model of the request. If it is missing, the newest user message names the model. */
  model?: { provider: string; id: string; api?: string } | undefined
}

/** Returns the body of the request that OpenCode would send for the array. */
export async function convert(name: ConverterName, request: Request): Promise<Body> {
  const c: Converter = converters[name]
  const to: Target = { ...(request.model ?? asked(request.array)), npm: c.npm, api: request.model?.api ?? c.api }
  const names = new Set<string>()
  for (const m of request.array) for (const p of m.parts) if (p.type === "tool" && p.tool) names.add(p.tool)
  const tools = Object.fromEntries([...names].map((tool) => [tool, { toModelOutput: modelOutput }]))

  let body: string | undefined
  const fetch = (async (_url: unknown, init?: { body?: unknown }) => {
    body = String(init?.body)
    throw new Kept("kept")
  }) as unknown as typeof globalThis.fetch
  try {
    const messages = await convertToModelMessages(toUI(request.array, to), { tools: tools as never })
    if (messages.length === 0) return undefined
    const model = c.open(fetch, to.api)
    const prompt = await convertToLanguageModelPrompt({
      prompt: await standardizePrompt({ messages: [{ role: "system", content: System }, ...messages] as never }),
      supportedUrls: await model.supportedUrls,
      download: undefined,
    })
    const namespace = namespaceOf(c.npm) ?? (name === "gateway" ? "anthropic" : undefined)
    await model.doStream({
      prompt: adapt(prompt, to),
      maxOutputTokens: 8000,
      tools: [...names].sort().map((tool) => ({ type: "function" as const, name: tool, inputSchema: { type: "object" as const } })),
      ...(namespace && c.options ? { providerOptions: { [namespace]: c.options as never } } : {}),
    })
  } catch (error) {
    if (body === undefined) throw new Refusal(error instanceof Error ? error.message : String(error))
  }
  return body === undefined ? undefined : JSON.parse(body)
}
