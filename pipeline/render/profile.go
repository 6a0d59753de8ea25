package render

import (
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Profile is what a provider insists on. Where we do not know a provider we
// assume that it insists on everything.
type Profile struct {
	Name string
	// DropsEmptyText: the harness leaves empty text blocks out for this
	// provider; every other provider gets them and answers 400.
	DropsEmptyText bool
	// ChecksSignatures: signed reasoning is verified, so a changed one fails.
	ChecksSignatures bool
	// LastIsUser: the newest message must be a user message or tool results,
	// because the provider takes no prefilled answer.
	LastIsUser bool
	// FusesAssistants: consecutive assistant messages become one, in which
	// reasoning may stand only once and only first (Anthropic's SDK).
	FusesAssistants bool
	// ForgetsReasoning: reasoning of earlier turns may be left out. Others miss
	// it (Moonshot's reasoning_content, OpenAI's items), so that they keep it.
	ForgetsReasoning bool
	// TakesSyntheticCalls: a call that the model never made is accepted in an
	// answer of its own. Google wants a signature with each call.
	TakesSyntheticCalls bool
	// Breakpoints is how many cache breakpoints a request may carry; 0 where
	// the provider caches by itself.
	Breakpoints int
}

// Profiles is every provider profile, the fallback last.
var Profiles = []Profile{
	{Name: "anthropic", DropsEmptyText: true, ChecksSignatures: true, LastIsUser: true, FusesAssistants: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4},
	{Name: "bedrock", ChecksSignatures: true, LastIsUser: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4},
	{Name: "vertex", ChecksSignatures: true, LastIsUser: true, ForgetsReasoning: true, TakesSyntheticCalls: true, Breakpoints: 4},
	{Name: "openai", ChecksSignatures: true, TakesSyntheticCalls: true},
	{Name: "copilot", ChecksSignatures: true, LastIsUser: true, TakesSyntheticCalls: true},
	{Name: "openai-compatible", LastIsUser: true, TakesSyntheticCalls: true},
	{Name: "google", ChecksSignatures: true, LastIsUser: true},
	{Name: "unknown", ChecksSignatures: true, LastIsUser: true},
}

// LeavesOut reports whether the provider lets a reasoning part of an earlier
// step be left out.
func (p Profile) LeavesOut(part *transcript.Part) bool {
	return p.ForgetsReasoning && (part.Signature == nil || !p.ChecksSignatures)
}

// DropsStaleReduceCalls reports whether old calls of ctx_reduce are dropped for
// the provider: where nothing has to stay in their place.
func (p Profile) DropsStaleReduceCalls() bool { return p.DropsEmptyText }

// ProfileNamed returns the profile of that name, or the fallback.
func ProfileNamed(name string) Profile { return profile(name) }

// byNPM maps the package that the harness speaks to a provider with.
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

// ProfileOf returns the profile of a provider: by its name where the name says
// enough, else by the package that speaks to it.
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
