// Command gen generates files from the Go types of package schema: the JSON
// Schema of the protocol and of the configuration, and the TypeScript types of
// the shims. It runs in the schema directory (`go generate ./schema`). Its test
// fails if the committed output is stale.
//
// It may import internal/json and schema.
package main
