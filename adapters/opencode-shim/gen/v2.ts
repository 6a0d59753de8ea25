import { all, cases, fields, list, nothing } from "../../shim-core/gen/declare.ts"

/**
 * The parts of a step of OpenCode 2 that the host uses. The projection leaves out the content of files, which can have
 * megabytes: the shim puts the beginning of each into `info.media`.
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
    // The host reads only whether metadata is present: a prompt has it, a synthetic message does not.
    ["user", fields({ id: all, role: all, content, metadata: fields({ source: all }) })],
  ],
  fields({ id: all, role: all, content, metadata: nothing }),
)

export const step = fields({ id: all, info: all, message, results: list(fields({ role: all, content })) })
