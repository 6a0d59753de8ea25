import { all, cases, fields, list } from "../../shim-core/gen/declare.ts"

/**
 * This projection lists the members of a step of Pi that the shim sends to the host. It leaves out members that no
 * model receives: details, costs, and the identifiers of responses.
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

// If the content is a string, it is sent whole.
const content = list(block)

const usage = fields({ input: all, output: all, cacheRead: all, cacheWrite: all })

const toolResult = fields({ role: all, toolCallId: all, toolName: all, content, isError: all, timestamp: all })

const message = cases(
  ["role"],
  [
    ["user", fields({ role: all, content, timestamp: all })],
    ["assistant", fields({ role: all, content, api: all, provider: all, model: all, usage, stopReason: all, errorMessage: all, timestamp: all })],
    ["toolResult", toolResult],
    // When Pi writes a custom message to the session file, the message gets a new timestamp. The shim leaves out the
    // timestamp, so that the host does not take the message for a changed one.
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
