// The types of rules. docs/provider-rules.md has an entry for each rule, by name: the provider's demand and its
// source.
import type { Body } from "../convert.ts"
import type { Evidence } from "../evidence.ts"

/** A Finding is a place where a request breaks a rule. */
export interface Finding {
  where: string
  detail: string
  /**
   * Identifies the same finding in the requests of the raw array and of the wire, for example by the id of a call.
   * Without a key, findings cannot be distinguished. Then the wire may have as many of them as the raw array.
   */
  key?: string
}

/** A Rule finds the places where a request breaks it. */
export type Rule = (body: Body, evidence: Evidence) => Finding[]

export type Rules = Record<string, Rule>

export function twice(ids: string[]): string[] {
  return [...new Set(ids.filter((id, i) => ids.indexOf(id) !== i))]
}

export const isBlank = (text: unknown): boolean => typeof text !== "string" || text.trim() === ""
