/** The part of Bun's SQLite that the driver uses. It is declared here because the project has Node's types only. */
declare module "bun:sqlite" {
  export class Statement {
    all(...values: (string | number)[]): Record<string, unknown>[]
  }
  export class Database {
    constructor(path: string, options?: { readonly?: boolean; readwrite?: boolean; create?: boolean })
    query(sql: string): Statement
    exec(sql: string): void
    close(): void
  }
}
