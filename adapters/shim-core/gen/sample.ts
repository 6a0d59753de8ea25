import { all, cases, fields, list, nothing } from "./declare.ts"

/** What the tests of the encoder project. */
export const sample = fields({
  id: all,
  text: all,
  summary: cases([], [[true, all]], nothing),
  parts: list(fields({ a: all, b: fields({ c: all }) })),
})
