package render

import (
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Profile lists the demands of one kind of provider (docs/provider-rules.md), for example that thinking is signed.
// For an unknown provider, the host assumes the strictest demands.
type Profile struct {
	Name string
	// Packages lists the npm packages that a harness uses for these providers. For Pi, it lists API names.
	Packages []string
	// DropsEmptyText: the harness leaves out empty text blocks for this
	// provider. All other providers get them and answer 400.
	DropsEmptyText bool
	// ChecksSignatures: the provider verifies signed reasoning and refuses a
	// block that was changed.
	ChecksSignatures bool
	// LastIsUser: the newest message must be a user message or tool results, because the provider does not continue an
	// answer of which the request has the beginning.
	LastIsUser bool
	// FusesAssistants: the SDK merges consecutive assistant messages, and the
	// provider accepts thinking at the start of the merged message only. The
	// SDKs for Anthropic's models do so on every route: direct, Bedrock and
	// Vertex.
	FusesAssistants bool
	// WantsThinkingFirst: while thinking is on, the provider refuses a request whose last answer has calls and does not
	// begin with thinking. Anthropic's models do so on every route. An unknown provider may serve one of these models.
	WantsThinkingFirst bool
	// StepsLeaveWhole: a call must follow the user or the results of other calls, and the first of several parallel
	// calls carries the signature for all of them (Gemini). So a step without calls must not stay between two steps. As
	// long as one of its calls or texts is not dropped, a step keeps all its calls, and dropped calls become skeletons.
	// If all its calls and texts are dropped, the whole step is removed.
	StepsLeaveWhole bool
	// ForgetsReasoning: reasoning of earlier turns may be left out. Other providers
	// require it: for example, Moonshot requires its reasoning_content, and OpenAI
	// requires its reasoning items.
	ForgetsReasoning bool
	// TakesSyntheticCalls: the provider accepts a separate answer with a call that the model never made. Google does
	// not, because it requires a signature with each call.
	TakesSyntheticCalls bool
	// Breakpoints is the number of cache breakpoints that a request may carry. It is 0
	// if the provider caches without breakpoints.
	Breakpoints int
	// Breakpoint is the provider option with which a message of the host carries a breakpoint.
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

// BreakpointFor returns the provider option with which a message of the host carries a breakpoint in a request to this
// model. Bedrock sells the models of many makers, and refuses a breakpoint for a model that cannot cache. So on
// Bedrock, only a model with "claude" or "anthropic" in its id gets a breakpoint. The harnesses have the same rule.
func (p Profile) BreakpointFor(model string) transcript.Breakpoint {
	model = strings.ToLower(model)
	if p.Breakpoint == transcript.BedrockBreakpoint && !strings.Contains(model, "claude") && !strings.Contains(model, "anthropic") {
		return transcript.NoBreakpoint
	}
	return p.Breakpoint
}

// LeavesOut reports whether the provider accepts a request without this reasoning
// part of an earlier step.
func (p Profile) LeavesOut(part *transcript.Part) bool {
	return p.ForgetsReasoning && (part.Signature == nil || !p.ChecksSignatures)
}

// LeavesOutSpent reports whether the provider accepts an answer without its reasoning, signed or not, if the answer
// only has placeholders of texts left. Moonshot and DeepSeek require the reasoning only beside calls. If an answer has
// none, the harness sends empty reasoning to DeepSeek. If another model wrote the answer (it is foreign), the harness
// sends its reasoning as a plain text, which no provider requires.
func (p Profile) LeavesOutSpent(isForeign bool) bool { return isForeign || !p.ChecksSignatures }

// DropsStaleReduceCalls reports whether old calls of ctx_reduce are dropped for the provider. They are dropped if the
// provider needs no text in their place.
func (p Profile) DropsStaleReduceCalls() bool { return p.DropsEmptyText }

// ProfileNamed returns the profile with that name, or the fallback.
func ProfileNamed(name string) Profile {
	for _, p := range Profiles {
		if p.Name == name {
			return p
		}
	}
	return Profiles[len(Profiles)-1]
}

// Package returns the name of a package that has the profile, or "" for the
// fallback.
func (p Profile) Package() string {
	if len(p.Packages) == 0 {
		return ""
	}
	return p.Packages[0]
}

// ProfileOf returns the profile of a provider. If the provider's name contains "copilot" or "bedrock", the name
// decides. Otherwise the npm package or the API's name decides. If it is unknown, the provider's name decides.
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
