// Package overflow recognises that a provider refused a prompt as too long, and
// reads from the refusal how long the prompt may be. For example, "prompt is
// too long: 210000 tokens > 200000 maximum" gives a limit of 200,000 tokens.
//
// It may import internal/json.
package overflow
