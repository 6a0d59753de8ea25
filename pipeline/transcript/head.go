package transcript

import "github.com/magicctx/magicctx-host/schema"

// A Head holds the texts of the messages before the tail.
type Head struct {
	Baseline, Acknowledgement, Delta string
	// Model is the model of the request. The acknowledgement names it as its writer, because harnesses send provider
	// options only with answers of the request's model.
	Model schema.Model
	// Breakpoint names the provider option with which the acknowledgement carries a cache breakpoint. Breakpoint is
	// empty if the acknowledgement has none.
	Breakpoint Breakpoint
}

type Breakpoint string

const (
	NoBreakpoint        Breakpoint = ""
	AnthropicBreakpoint Breakpoint = "anthropic"
	BedrockBreakpoint   Breakpoint = "bedrock"
)

// The keys of the head's messages. No message of a harness has these keys.
const (
	BaselineKey        = "magicctx-baseline"
	AcknowledgementKey = "magicctx-acknowledgement"
	DeltaKey           = "magicctx-delta"
)
