// This file declares the types of the judge's rules. docs/provider-rules.md describes each rule under its name, and
// cites the provider's documentation.
import type { Body } from "../convert.ts"
import type { Evidence } from "../evidence.ts"

/** A place where a request breaks a rule. */
export interface Finding {
  where: string
  detail: string
  /**
   * If a finding in the wire and a finding in the raw array have the same key, for example the id of a call, they count
   * as the same finding. If the findings of a rule have no keys, the judge compares only how many there are.
   */
  key?: string
}

/** A rule returns the places where a request breaks it. */
export type Rule = (body: Body, evidence: Evidence) => Finding[]

export type Rules = Record<string, Rule>

export function twice(ids: string[]): string[] {
  return [...new Set(ids.filter((id, i) => ids.indexOf(id) !== i))]
}

export const isBlank = (text: unknown): boolean => typeof text !== "string" || text.trim() === ""
