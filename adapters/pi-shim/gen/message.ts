import { all, cases, fields, list } from "../../shim-core/gen/declare.ts"

/**
 * The parts of a step of Pi that the host uses. The projection leaves out members that never reach a model:
 * details, costs, and the identifiers of responses.
 */

const block = cases(
  ["type"],
  [
    ["text", fields({ type: all, text: all, textSignature: all })],
    ["image", fields({ type: all, data: all, mimeType: all })],
    ["thinking", fields({ type: all, thinking: all, thinkingSignature: all, redacted: all })],
    ["toolCall", fields({ type: all, id: all, name: all, arguments: all, thoughtSignature: all })],
  ],
  all,
)

// The content may also be a string, which is kept whole.
const content = list(block)

const usage = fields({ input: all, output: all, cacheRead: all, cacheWrite: all })

const toolResult = fields({ role: all, toolCallId: all, toolName: all, content, isError: all, timestamp: all })

const message = cases(
  ["role"],
  [
    ["user", fields({ role: all, content, timestamp: all })],
    ["assistant", fields({ role: all, content, api: all, provider: all, model: all, usage, stopReason: all, errorMessage: all, timestamp: all })],
    ["toolResult", toolResult],
    // The timestamp of a custom message changes when Pi writes it to the session file.
    ["custom", fields({ role: all, customType: all, content })],
    [
      "bashExecution",
      fields({
        role: all,
        command: all,
        output: all,
        exitCode: all,
        cancelled: all,
        truncated: all,
        fullOutputPath: all,
        excludeFromContext: all,
        timestamp: all,
      }),
    ],
    ["compactionSummary", fields({ role: all, summary: all, timestamp: all })],
    ["branchSummary", fields({ role: all, summary: all, fromId: all })],
  ],
  all,
)

export const step = fields({ id: all, message, results: list(toolResult) })
