package route

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// Of returns the route of a model, with the route's default life. npm is the npm package through which the harness
// calls the provider, or the name that Pi gives to the provider's API, or "". Some packages and providers serve only
// one family of models, so they decide the route. For a gateway such as OpenRouter, the model's id decides.
func Of(m schema.Model, npm string) Route {
	provider, id := strings.ToLower(m.Provider), strings.ToLower(m.ID)
	r := of(provider, id, npm)
	r.Cliff = cliffOf(id)
	return r
}

func of(provider, id, npm string) Route {
	switch {
	case strings.Contains(provider, "bedrock"), npm == "@ai-sdk/amazon-bedrock", npm == "bedrock-converse-stream":
		return claude("bedrock", id)
	case npm == "@ai-sdk/google-vertex/anthropic", provider == "google-vertex-anthropic":
		return claude("vertex", id)
	case npm == "@ai-sdk/anthropic", npm == "anthropic-messages":
		return claude("anthropic", id)
	case npm == "@ai-sdk/openai", npm == "@ai-sdk/azure", strings.HasSuffix(npm, "-responses"): // Pi has openai-, openai-codex- and azure-openai-responses
		return openai(id)
	case npm == "@ai-sdk/google", npm == "@ai-sdk/google-vertex", npm == "google-generative-ai", npm == "google-gemini-cli", npm == "google-vertex":
		return gemini(id)
	}
	switch familyOf(provider, id) {
	case "claude":
		return claude("anthropic", id)
	case "gpt":
		return openai(id)
	case "gemini":
		return gemini(id)
	}
	return Named(unknown)
}

// familyOf returns the family of a model. If neither the id nor the provider names a family, the result is "".
func familyOf(provider, id string) string {
	switch {
	case strings.Contains(id, "claude"), provider == "anthropic":
		return "claude"
	case gptID.MatchString(id), reasonerID.MatchString(id), provider == "openai", provider == "azure":
		return "gpt"
	case strings.Contains(id, "gemini"), provider == "google", provider == "google-vertex":
		return "gemini"
	}
	return ""
}

var (
	// A date after the version, as in "claude-sonnet-4-20250514", is not part of the version.
	claudeID = regexp.MustCompile(`claude-(?:(opus|sonnet|haiku|fable|mythos)-)?(\d{1,2})(?:[-.](\d{1,2}))?(?:[^0-9]|$)(?:(opus|sonnet|haiku))?`)
	// "gpt-oss-120b" must not match, because OpenAI does not serve it.
	gptID      = regexp.MustCompile(`(?:^|[^a-z])(?:chat)?gpt-(\d{1,2})(?:\.(\d{1,2}))?(o?)`)
	reasonerID = regexp.MustCompile(`(?:^|/)o[134](?:-|$)`)
	geminiID   = regexp.MustCompile(`gemini-(\d{1,2})`)
)

// claude returns the named route. For a Claude model, MinTokens is the shortest prefix that the model caches.
func claude(name, id string) Route {
	r := Named(name)
	found := claudeID.FindStringSubmatch(id)
	if found == nil {
		return r
	}
	r.MinTokens = claudeMinTokens(name, found[1]+found[4], versionOf(found[2], found[3]))
	return r
}

// versionOf returns a version as one number, the major number times 100 plus the minor number. For example, 4.5 is
// 405.
func versionOf(major, minor string) int {
	a, _ := strconv.Atoi(major) // no error: the pattern matches digits only
	b, _ := strconv.Atoi(minor) // an empty minor number gives 0
	return a*100 + b
}

// claudeMinTokens lists models one by one, because the documented values follow no rule. A model that is not listed
// gets the most frequent value.
func claudeMinTokens(route, family string, version int) int {
	switch {
	case version >= 500 && family != "sonnet" && family != "haiku":
		return 512 // Opus 5, Fable 5, Mythos 5
	case family == "opus" && version == 407 && route == "bedrock":
		return 4096
	case family == "opus" && version == 407:
		return 2048
	case family == "opus" && (version == 405 || version == 406), family == "haiku" && version == 405:
		return 4096
	case family == "haiku" && version < 405:
		return 2048
	}
	return 1024
}

// gptWithWriteFee is version 5.6. From this version on, cache writes of OpenAI's models have a price, and prefixes
// live for 30 minutes.
const gptWithWriteFee = 506

func openai(id string) Route {
	r := Named("openai")
	found := gptID.FindStringSubmatch(id)
	switch {
	case found == nil && reasonerID.MatchString(id):
		r.Read = 0.25
	case found == nil:
	case versionOf(found[1], found[2]) >= gptWithWriteFee:
		return Named("openai-5.6")
	case found[3] == "o": // GPT-4o
		r.Read = 0.5
	case versionOf(found[1], found[2]) < 500: // GPT-4.1
		r.Read = 0.25
	}
	return r
}

func gemini(id string) Route {
	r := Named("google")
	if found := geminiID.FindStringSubmatch(id); found != nil && versionOf(found[1], "") < 300 {
		r.MinTokens = 2048
	}
	return r
}
