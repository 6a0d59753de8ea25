package render

import (
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Profile lists the demands of one kind of provider (docs/provider-rules.md),
// for example that thinking is signed. If we do not know a provider, we assume
// the strictest demands.
type Profile struct {
	Name string
	// DropsEmptyText: the harness leaves out empty text blocks for this
	// provider. All other providers get them and answer 400.
	DropsEmptyText bool
	// ChecksSignatures: the provider verifies signed reasoning and refuses a
	// block that was changed.
	ChecksSignatures bool
	// LastIsUser: the newest message must be a user message or tool results,
	// because the provider does not continue an answer that we begin for it.
	LastIsUser bool
	// FusesAssistants: the SDK merges consecutive assistant messages, and the
	// provider accepts thinking at the start of the merged message only. The
	// SDKs for Anthropic's models do so on every route: direct, Bedrock and
	// Vertex.
	FusesAssistants bool
	// StepsLeaveWhole: a call must follow the user or the results of other
	// calls, and the first of several parallel calls carries the signature for
	// all of them (Gemini). So there are two ways: the step keeps all of its
	// calls, the dropped ones as skeletons, or the whole step leaves with its
	// text.
	StepsLeaveWhole bool
	// ForgetsReasoning: reasoning of earlier turns may be left out. Other
	// providers miss it, for example Moonshot its reasoning_content and OpenAI
	// its reasoning items, so for them it stays.
	ForgetsReasoning bool
	// TakesSyntheticCalls: the provider accepts a separate answer with a call
	// that the model never made. Google does not, because it wants a signature
	// with each call.
	TakesSyntheticCalls bool
	// Breakpoints is the number of cache breakpoints that a request may carry.
	// It is 0 if the provider caches by itself.
	Breakpoints int
}

// Profiles lists every provider profile. The last one is the fallback.
var Profiles = []Profile{
	{Name: "anthropic", DropsEmptyText: true, ChecksSignatures: true, LastIsUser: true, FusesAssistants: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4},
	{Name: "bedrock", DropsEmptyText: true, ChecksSignatures: true, LastIsUser: true, FusesAssistants: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4},
	{Name: "vertex", ChecksSignatures: true, LastIsUser: true, FusesAssistants: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4},
	{Name: "openai", ChecksSignatures: true, TakesSyntheticCalls: true},
	{Name: "copilot", ChecksSignatures: true, LastIsUser: true, TakesSyntheticCalls: true},
	{Name: "openai-compatible", LastIsUser: true, TakesSyntheticCalls: true},
	{Name: "google", ChecksSignatures: true, LastIsUser: true, StepsLeaveWhole: true},
	{Name: "unknown", ChecksSignatures: true, LastIsUser: true, StepsLeaveWhole: true},
}

// LeavesOut reports whether the provider accepts a request in which this
// reasoning part of an earlier step is left out.
func (p Profile) LeavesOut(part *transcript.Part) bool {
	return p.ForgetsReasoning && (part.Signature == nil || !p.ChecksSignatures)
}

// DropsStaleReduceCalls reports whether old calls of ctx_reduce are dropped for
// the provider. They are if nothing has to stay in their place.
func (p Profile) DropsStaleReduceCalls() bool { return p.DropsEmptyText }

// ProfileNamed returns the profile with that name, or the fallback.
func ProfileNamed(name string) Profile { return profile(name) }

// byNPM maps the npm package with which the harness reaches a provider to the
// name of a profile.
var byNPM = map[string]string{
	"@ai-sdk/anthropic":               "anthropic",
	"@ai-sdk/amazon-bedrock":          "bedrock",
	"@ai-sdk/google-vertex/anthropic": "vertex",
	"@ai-sdk/google-vertex":           "google",
	"@ai-sdk/google":                  "google",
	"@ai-sdk/openai":                  "openai",
	"@ai-sdk/azure":                   "openai",
	"@ai-sdk/github-copilot":          "copilot",
	"@ai-sdk/openai-compatible":       "openai-compatible",
}

// ProfileOf returns the profile of a provider. If the provider's name contains
// "copilot" or "bedrock", the name decides. Otherwise the npm package decides
// and, if we do not know the package, the provider's name.
func ProfileOf(provider, npm string) Profile {
	provider = strings.ToLower(provider)
	switch {
	case strings.Contains(provider, "copilot"):
		return profile("copilot")
	case strings.Contains(provider, "bedrock"):
		return profile("bedrock")
	}
	if name, ok := byNPM[npm]; ok {
		return profile(name)
	}
	return profile(provider)
}

func profile(name string) Profile {
	for _, p := range Profiles {
		if p.Name == name {
			return p
		}
	}
	return Profiles[len(Profiles)-1]
}
