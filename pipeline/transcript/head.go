package transcript

import "github.com/magicctx/magicctx-host/schema"

// A Head holds the texts of the messages before the tail: the user's baseline, the
// model's acknowledgement, and the user's delta.
type Head struct {
	Baseline, Acknowledgement, Delta string
	// Model is the model of the request. The acknowledgement names it as its writer, because harnesses send provider
	// options only with answers of the model of the request.
	Model schema.Model
	// Breakpoint names the provider option with which the acknowledgement carries a cache breakpoint. It is empty if
	// the acknowledgement has no breakpoint.
	Breakpoint Breakpoint
}

// A Breakpoint names the provider option that marks the end of a cached prefix.
type Breakpoint string

// The breakpoints.
const (
	NoBreakpoint        Breakpoint = ""
	AnthropicBreakpoint Breakpoint = "anthropic"
	BedrockBreakpoint   Breakpoint = "bedrock"
)

// The keys of the head's messages. No message of a harness has such a key.
const (
	BaselineKey        = "magicctx-baseline"
	AcknowledgementKey = "magicctx-acknowledgement"
	DeltaKey           = "magicctx-delta"
)
