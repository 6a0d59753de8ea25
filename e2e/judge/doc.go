// Package judge starts the judge in this directory, a TypeScript program, and sends it cases. A case is
// either the raw array of a pass with the wire made from it, or a request that a provider received.
//
// It may import internal/json.
package judge
