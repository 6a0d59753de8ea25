// Package stage builds the host and the shim, and sets up the real OpenCode
// with them: for the end-to-end tests, and for the recorder of traces.
//
// It may import internal/json, internal/opencodetest and schema.
package stage
