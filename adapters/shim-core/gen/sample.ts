import { all, cases, fields, list, nothing } from "./declare.ts"

/** The projection that the tests of the encoder use. */
export const sample = fields({
  id: all,
  text: all,
  summary: cases([], [[true, all]], nothing),
  parts: list(fields({ a: all, b: fields({ c: all }) })),
})
