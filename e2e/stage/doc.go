// Package stage builds the host and the shim, and sets up the real OpenCode and the real Pi with them. The end-to-end
// tests and the recorder of traces use it.
//
// It may import e2e/opencodetest, e2e/pitest, internal/json and schema.
package stage
