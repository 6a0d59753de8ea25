package render

import (
	"regexp"
	"strconv"
	"strings"
)

// claudeID finds the family and version in a Claude model id. Providers,
// gateways and clouds write ids differently, for example claude-opus-5-5,
// anthropic/claude-fable-5.1, eu.anthropic.claude-sonnet-5-5-v1:0 and
// claude-5-1-mythos@20260801. A version number has at most two digits, so a
// date such as 20260801 is not read as a minor version.
var claudeID = regexp.MustCompile(`claude-(?:([a-z]+)-)?(\d{1,2})(?:[.-](\d{1,2}))?(?:-([a-z]+))?(?:[^0-9a-z]|$)`)

// BindsThinking reports whether the model accepts a thinking block only after the exact prompt for which the block
// was produced (docs/preserved-thinking.md). Claude models do so from version 5.1 on, except Mythos 5.1, which does
// not check its thinking. If the id names no Claude version, the provider decides. A provider that speaks Anthropic's
// protocol may serve a binding model, unless the id names another maker's model, for example amazon.nova-pro. At an
// unknown provider, every model without a Claude version counts as binding.
func (p Profile) BindsThinking(model string) bool {
	m := claudeID.FindStringSubmatch(strings.ToLower(model))
	if m == nil {
		return p.FusesAssistants && !isForeign(model) || p.Name == "unknown"
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	if (m[1] == "mythos" || m[4] == "mythos") && major == 5 && minor == 1 {
		return false
	}
	return major > 5 || major == 5 && minor >= 1
}

// Parts of the ids of other makers' models, which Bedrock and Vertex also sell.
var foreign = []string{"amazon.", "nova", "meta.", "llama", "mistral", "cohere", "ai21", "deepseek", "qwen", "gemini", "gpt", "openai.", "titan"}

func isForeign(model string) bool {
	model = strings.ToLower(model)
	for _, f := range foreign {
		if strings.Contains(model, f) {
			return true
		}
	}
	return false
}
