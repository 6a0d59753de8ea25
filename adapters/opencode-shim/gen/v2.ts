import { all, cases, fields, list, nothing } from "../../shim-core/gen/declare.ts"

/**
 * This projection lists the members of a step of OpenCode 2 that the shim sends to the host. Files can have megabytes,
 * so their content is left out. Instead, the shim sends the first characters of each file in `info.media`.
 */

const file = fields({ type: all, mime: all, name: all })

const result = cases(["type"], [["content", fields({ type: all, value: list(cases(["type"], [["file", file]], all)) })]], all)

const toolResult = fields({ type: all, id: all, name: all, result, providerExecuted: all })

const part = cases(
  ["type"],
  [
    ["text", fields({ type: all, text: all, metadata: fields({ attachment: all }) })],
    ["reasoning", fields({ type: all, text: all, encrypted: all, providerMetadata: all })],
    ["tool-call", fields({ type: all, id: all, name: all, input: all, providerExecuted: all })],
    ["tool-result", toolResult],
    ["media", fields({ type: all, mediaType: all, media: fields({ mediaType: all }), filename: all })],
  ],
  all,
)

const content = list(part)

const message = cases(
  ["role"],
  [
    // The host only checks whether `metadata` exists: prompts of the user have it, synthetic messages do not.
    ["user", fields({ id: all, role: all, content, metadata: fields({ source: all }) })],
  ],
  fields({ id: all, role: all, content, metadata: nothing }),
)

export const step = fields({ id: all, info: all, message, results: list(fields({ role: all, content })) })
