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
	// ChecksSignatures: the provider verifies signed reasoning and refuses a block that was changed.
	ChecksSignatures bool
	// LastIsUser: the newest message must be a user message or tool results, because the provider does not continue
	// an answer that the request begins.
	LastIsUser bool
	// FusesAssistants: the SDK merges consecutive assistant messages, and the provider accepts thinking only at the
	// start of the merged message. All routes to Anthropic's models do so: direct, Bedrock and Vertex.
	FusesAssistants bool
	// WantsThinkingFirst: while thinking is on, the provider refuses a request whose last answer has calls and does not
	// begin with thinking. Anthropic's models do so on every route. An unknown provider may serve one of these models.
	WantsThinkingFirst bool
	// StepsLeaveWhole: a call must follow the user or the results of other calls, and the first of several parallel
	// calls carries the signature for all (Gemini). So a step without calls must not stay between two steps. If one
	// of its calls or texts stays, a step keeps all its calls, the dropped calls as skeletons. Otherwise the whole
	// step is removed.
	StepsLeaveWhole bool
	// ForgetsReasoning: reasoning of earlier turns may be left out. Other providers require it: for example, Moonshot
	// its reasoning_content, and OpenAI its reasoning items.
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

// BreakpointFor returns the provider option with which a message of the host carries a breakpoint in a request to
// this model. Bedrock refuses a breakpoint for a model that cannot cache, and sells models of many makers. So on
// Bedrock, as in the harnesses, only a model with "claude" or "anthropic" in its id gets a breakpoint.
func (p Profile) BreakpointFor(model string) transcript.Breakpoint {
	model = strings.ToLower(model)
	if p.Breakpoint == transcript.BedrockBreakpoint && !strings.Contains(model, "claude") && !strings.Contains(model, "anthropic") {
		return transcript.NoBreakpoint
	}
	return p.Breakpoint
}

// LeavesOut reports whether this reasoning of an earlier step may be left out.
func (p Profile) LeavesOut(part *transcript.Part) bool {
	return p.ForgetsReasoning && (part.Signature == nil || !p.ChecksSignatures)
}

// LeavesOutSpent reports whether the provider accepts an answer without its reasoning if only placeholders of texts
// are left of the answer. Moonshot and DeepSeek require the reasoning only with calls. If an answer has none, the
// harness sends empty reasoning to DeepSeek. If another model wrote the answer (isForeign), the harness sends its
// reasoning as a plain text, which no provider requires.
func (p Profile) LeavesOutSpent(isForeign bool) bool { return isForeign || !p.ChecksSignatures }

// A provider that needs no text in their place gets no old calls of ctx_reduce.
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

// ProfileOf returns the profile of a provider. A provider's name with "copilot" or "bedrock" decides. Otherwise
// the npm package or the API's name decides, and then the provider's name.
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
