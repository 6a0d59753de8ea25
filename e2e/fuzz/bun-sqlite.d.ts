/** The part of Bun's SQLite that the fuzzer and the fake OpenCode 2 use. The project has only the types of Node. */
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
