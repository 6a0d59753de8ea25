package overflow

import (
	"regexp"
	"strconv"
	"strings"
)

// A family is one wording of the refusal.
type family struct {
	name   string
	phrase *regexp.Regexp
	// limit finds the limit as its first group, in texts that have the phrase;
	// nil where the wording holds no limit.
	limit *regexp.Regexp
}

// number is a count of tokens as people write it, with or without separators.
const number = `([0-9][0-9,_'\x{a0}\x{202f}]*)`

// families is in the order in which they are asked for the limit: those that
// name it before those that a message may contain as well (spec history §17).
var families = []family{
	// "prompt is too long: 210000 tokens > 200000 maximum"; a body that came
	// through Go's encoder writes the sign as \u003e.
	of("anthropic", `prompt is too long`, `(?:>|\\u003e)\s*`+number+`\s*(?:tokens?\s*)?max`),
	// "input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000"
	of("anthropic with output", `exceeds? context limit`, `context limit[^>]{0,80}(?:>|\\u003e)\s*`+number),
	of("bedrock", `input is too long for requested model`, ``),
	// "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."
	of("gemini", `input token count.{0,60}exceeds the maximum`, `exceeds the maximum[^0-9]{0,60}`+number),
	of("xai", `maximum prompt length is `+number, `maximum prompt length is `+number),
	of("mistral", `too large for model with `+number+` maximum context length`, `too large for model with `+number+` maximum context length`),
	of("vllm", `context length is only `+number+` tokens`, `context length is only `+number),
	// "input length 9000 exceeds the context length of 8192": the second number.
	of("vllm input", `input length.{0,60}exceeds?.{0,40}context length`, `exceeds?.{0,40}context length[^0-9]{0,10}`+number),
	of("openrouter", `maximum context length is `+number+` tokens`, `maximum context length is `+number),
	// "exceeded model token limit: 262144 (requested: 291351)"
	of("moonshot", `exceeded model token limit`, `exceeded model token limit[^0-9]{0,10}`+number),
	of("copilot", `exceeds the limit of `+number, `exceeds the limit of `+number),
	// "the request exceeds the available context size; context size is 8192
	// tokens", also "available context size (8192 tokens)" and "n_ctx":8192.
	of("llama.cpp", `exceeds the available context size`, `(?:context size(?: is| of|:)?[ (]{1,2}|"n_ctx"\s*:\s*)`+number),
	of("lm studio", `greater than the context length`, `context length of (?:only )?`+number),
	of("openai", `exceeds the context window`, ``),
	of("groq", `reduce the length of the messages`, ``),
	// "context window exceeds limit (2013)": 2013 is an error code.
	of("minimax", `context window exceeds limit`, ``),
	of("openai code", `context[_ ]length[_ ]exceeded`, ``),
	of("gateway", `request entity too large`, ``),
	// "prompt too long; exceeded max context length by 4200 tokens": by how much, not the limit.
	of("ollama", `prompt too long; exceeded (?:max )?context length`, ``),
	of("z.ai", `model_context_window_exceeded`, ``),
	of("other", `context size has been exceeded`, ``),
}

func of(name, phrase, limit string) family {
	f := family{name: name, phrase: compile(phrase)}
	if limit != "" {
		f.limit = compile(limit)
	}
	return f
}

func compile(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?is)` + pattern) }

// anyMaximum is what other wordings have in common. Only what stands between
// the words and the number tells a limit from an excess ("by 4200 tokens").
var anyMaximum = compile(`max(?:imum)?[^0-9.\n]{0,20}context (?:length|size|window)(?: is| of|:)?[ (]{1,2}` + number)

// rateLimit tells a quota from a window: "exceeds the limit of 30000 tokens per
// minute" passes in a minute, and must not be taken for the model's own limit.
var rateLimit = compile(`rate[ _-]?limit|tokens? per (?:min|hour|day|sec)|requests? per (?:min|hour|day|sec)|\b[rt]p[md]\b|too many requests`)

var (
	standalone413 = compile(`\b413\b`)
	aboutPrompt   = compile(`entity|payload|context|prompt`)
)

// firstLimit returns the first number of pattern in text that may be a limit, 0
// if there is none.
func firstLimit(pattern *regexp.Regexp, text string) int {
	for _, groups := range pattern.FindAllStringSubmatch(text, -1) {
		if n := parse(groups[1]); n >= minLimit && n <= maxLimit {
			return n
		}
	}
	return 0
}

// parse reads a number with separators between groups of three. Other
// punctuation ends it: "131072, but" and "8192,16384" are 131072 and 8192.
func parse(text string) int {
	groups := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	digits := groups[0]
	if len(digits) <= 3 {
		for _, g := range groups[1:] {
			if len(g) != 3 {
				break
			}
			digits += g
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil { // longer than any limit
		return 0
	}
	return n
}
