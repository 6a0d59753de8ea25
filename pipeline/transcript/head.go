package transcript

import "github.com/magicctx/magicctx-host/schema"

// A Head holds the texts of the messages before the tail.
type Head struct {
	Baseline, Acknowledgement, Delta string
	// Model is the model of the request. The acknowledgement names this model as its author. With another author, the
	// harness would not send the acknowledgement's provider options, such as a cache breakpoint.
	Model schema.Model
	// Breakpoint is the provider option that sets a cache breakpoint on the acknowledgement, or "".
	Breakpoint Breakpoint
}

type Breakpoint string

const (
	NoBreakpoint        Breakpoint = ""
	AnthropicBreakpoint Breakpoint = "anthropic"
	BedrockBreakpoint   Breakpoint = "bedrock"
)

// These are the keys of the head's messages. No message of a harness has such a key.
const (
	BaselineKey        = "magicctx-baseline"
	AcknowledgementKey = "magicctx-acknowledgement"
	DeltaKey           = "magicctx-delta"
)
