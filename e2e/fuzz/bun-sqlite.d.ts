/**
 * The driver of the fuzzer and the fake of OpenCode 2 use this part of Bun's SQLite. The project has only Node's types,
 * so it is declared here.
 */
declare module "bun:sqlite" {
  export class Statement {
    all(...values: (string | number)[]): Record<string, unknown>[]
    get(...values: (string | number)[]): Record<string, unknown> | null
    run(...values: (string | number)[]): unknown
  }
  export class Database {
    constructor(path: string, options?: { readonly?: boolean; readwrite?: boolean; create?: boolean })
    query(sql: string): Statement
    exec(sql: string): void
    close(): void
  }
}
