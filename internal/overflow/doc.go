// Package overflow reads a provider's refusal: whether a prompt was too long for
// the model, and how long it may have been.
//
// It may import internal/json only.
package overflow
