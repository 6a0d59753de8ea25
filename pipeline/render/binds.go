package render

import (
	"regexp"
	"strconv"
	"strings"
)

// claudeID finds the family and version in a Claude model id. Ids have several forms, for example claude-opus-5-5,
// anthropic/claude-fable-5.1, eu.anthropic.claude-sonnet-5-5-v1:0 and claude-5-1-mythos@20260801. A version number has
// at most two digits, so the date 20260801 is no version.
var claudeID = regexp.MustCompile(`claude-(?:([a-z]+)-)?(\d{1,2})(?:[.-](\d{1,2}))?(?:-([a-z]+))?(?:[^0-9a-z]|$)`)

// BindsThinking reports whether the model accepts a thinking block only after the exact prompt for which it produced
// the block (docs/preserved-thinking.md). Claude models do so from version 5.1 on, except Mythos 5.1, which does not
// check its thinking.
//
// If the id contains no Claude version, the result depends on the provider. A provider with Anthropic's protocol may
// serve a Claude model under another name, so the result is true unless the id names another maker's model, for example
// amazon.nova-pro. For an unknown provider, the result is always true.
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

// foreign lists parts of the ids of other makers' models. Bedrock and Vertex also sell these models.
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
