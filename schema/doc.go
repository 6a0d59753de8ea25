// Package schema holds every type that crosses a boundary, once: the protocol
// between shim and host, and the configuration. The JSON Schema and the
// TypeScript types are generated from it (go generate ./schema) and committed.
//
// It holds no logic and may import internal/json only.
package schema
