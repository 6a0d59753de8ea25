// Package schema defines the types that cross a boundary: the protocol between
// shim and host, and the configuration. Each is defined here once. `go generate
// ./schema` generates the JSON Schema and the TypeScript types from it, and
// both are committed.
//
// It may import internal/json.
package schema
