// Command gen derives from the Go types of package schema what other languages
// read: the JSON Schema of the protocol and of the configuration, and the
// TypeScript of the shims. It runs in the schema directory (go generate
// ./schema); its test fails when the committed output is stale.
//
// It may import schema and internal/json. It is the only package that may
// import a JSON Schema library: the host does not link it.
package main
