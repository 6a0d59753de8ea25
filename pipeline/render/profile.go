package render

import (
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Profile lists the requirements of one kind of provider (docs/provider-rules.md), for example that thinking is
// signed. For an unknown provider, the host assumes the strictest requirements.
type Profile struct {
	Name string
	// Packages lists the npm packages that a harness uses for these providers. For Pi, it lists API names.
	Packages []string
	// DropsEmptyText: the harness does not send empty texts to this provider. If DropsEmptyText is false, the harness
	// sends empty texts, and the provider refuses the request.
	DropsEmptyText bool
	// ChecksSignatures: the provider verifies signed reasoning and refuses a block that was changed.
	ChecksSignatures bool
	// LastIsUser: a request must end with a user message or results, because the provider does not continue an answer.
	LastIsUser bool
	// FusesAssistants: the SDK joins consecutive assistant messages, and the provider accepts thinking only at the
	// start of the joined message. Anthropic's models require this on Anthropic's own API, on Bedrock and on Vertex.
	FusesAssistants bool
	// WantsThinkingFirst: while thinking is on, the provider refuses a request whose last answer has calls and does not
	// begin with thinking. Anthropic's models do so on every route. An unknown provider may serve one of these models.
	WantsThinkingFirst bool
	// StepsLeaveWhole: the host may remove a step only as a whole. Gemini needs this for two reasons. It accepts a call
	// only directly after a user message or results. And of several parallel calls, only the first one carries the
	// signature, so the others cannot stay without it. If a text or another call of the step stays, the step's dropped
	// calls become skeletons.
	StepsLeaveWhole bool
	// ForgetsReasoning: the provider does not require the reasoning of earlier turns. Some providers do require it:
	// Moonshot expects it as reasoning_content, and OpenAI as reasoning items.
	ForgetsReasoning bool
	// TakesSyntheticCalls: the provider accepts an answer with a call that the model never made. Google does not,
	// because each call must be signed.
	TakesSyntheticCalls bool
	// Breakpoints is the maximum number of cache breakpoints in a request, 0 if the provider caches without them.
	Breakpoints int
	// Breakpoint is the provider option that sets a breakpoint on a message of the host.
	Breakpoint transcript.Breakpoint
}

// Profiles lists every provider profile. The last one is the fallback.
var Profiles = []Profile{
	{
		Name: "anthropic", Packages: []string{"@ai-sdk/anthropic", "anthropic-messages"},
		DropsEmptyText: true, ChecksSignatures: true, LastIsUser: true, FusesAssistants: true, WantsThinkingFirst: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4,
		Breakpoint: transcript.AnthropicBreakpoint,
	},
	{
		Name: "bedrock", Packages: []string{"@ai-sdk/amazon-bedrock", "bedrock-converse-stream"},
		DropsEmptyText: true, ChecksSignatures: true, LastIsUser: true, FusesAssistants: true, WantsThinkingFirst: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4,
		Breakpoint: transcript.BedrockBreakpoint,
	},
	{
		Name: "vertex", Packages: []string{"@ai-sdk/google-vertex/anthropic"},
		ChecksSignatures: true, LastIsUser: true, FusesAssistants: true, WantsThinkingFirst: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4,
		Breakpoint: transcript.AnthropicBreakpoint,
	},
	{
		Name: "openai", Packages: []string{"@ai-sdk/openai", "@ai-sdk/azure", "openai-responses", "openai-codex-responses", "azure-openai-responses"},
		ChecksSignatures: true, TakesSyntheticCalls: true,
	},
	{
		Name: "copilot", Packages: []string{"@ai-sdk/github-copilot"},
		ChecksSignatures: true, LastIsUser: true, TakesSyntheticCalls: true,
	},
	{
		Name: "openai-compatible", Packages: []string{"@ai-sdk/openai-compatible", "openai-completions"},
		LastIsUser: true, TakesSyntheticCalls: true,
	},
	{
		Name: "google", Packages: []string{"@ai-sdk/google", "@ai-sdk/google-vertex", "google-generative-ai", "google-gemini-cli", "google-vertex"},
		ChecksSignatures: true, LastIsUser: true, StepsLeaveWhole: true,
	},
	{
		Name:             "unknown",
		ChecksSignatures: true, LastIsUser: true, StepsLeaveWhole: true, WantsThinkingFirst: true,
	},
}

// BreakpointFor returns the provider option that sets a breakpoint in a request to this model. Bedrock refuses a
// breakpoint if the model cannot cache. So on Bedrock, only a model with "claude" or "anthropic" in its id gets one.
// The harnesses do the same.
func (p Profile) BreakpointFor(model string) transcript.Breakpoint {
	model = strings.ToLower(model)
	if p.Breakpoint == transcript.BedrockBreakpoint && !strings.Contains(model, "claude") && !strings.Contains(model, "anthropic") {
		return transcript.NoBreakpoint
	}
	return p.Breakpoint
}

// LeavesOut reports whether the provider accepts an earlier step without this reasoning.
func (p Profile) LeavesOut(part *transcript.Part) bool {
	return p.ForgetsReasoning && (part.Signature == nil || !p.ChecksSignatures)
}

// LeavesOutSpent reports whether the host may leave out the reasoning of an answer that consists only of placeholders.
// This is possible even with Moonshot and DeepSeek: they require reasoning only beside calls, and for DeepSeek the
// harness sends empty reasoning. If another model wrote the answer (isForeign), its reasoning may always be left out,
// because the harness sends it as a plain text, which no provider requires.
func (p Profile) LeavesOutSpent(isForeign bool) bool { return isForeign || !p.ChecksSignatures }

// DropsStaleReduceCalls reports whether an old call of ctx_reduce may be removed without a text in its place. The
// message may then be empty, so this is only possible if the harness does not send empty messages to the provider.
func (p Profile) DropsStaleReduceCalls() bool { return p.DropsEmptyText }

func ProfileNamed(name string) Profile {
	for _, p := range Profiles {
		if p.Name == name {
			return p
		}
	}
	return Profiles[len(Profiles)-1]
}

// Package returns a package of the profile, or "" for the fallback.
func (p Profile) Package() string {
	if len(p.Packages) == 0 {
		return ""
	}
	return p.Packages[0]
}

// ProfileOf returns the profile of a provider. First it looks for "copilot" or "bedrock" in the provider's name, then
// it looks for the npm package or API name in the profiles, and last for a profile with the provider's name. If it
// finds nothing, it returns the fallback.
func ProfileOf(provider, npm string) Profile {
	provider = strings.ToLower(provider)
	switch {
	case strings.Contains(provider, "copilot"):
		return ProfileNamed("copilot")
	case strings.Contains(provider, "bedrock"):
		return ProfileNamed("bedrock")
	}
	for _, p := range Profiles {
		if slices.Contains(p.Packages, npm) {
			return p
		}
	}
	return ProfileNamed(provider)
}
