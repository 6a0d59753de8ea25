package overflow

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A family is the wording by which one provider refuses a long prompt.
type family struct {
	name   string
	phrase pattern
	// `limit` matches the part of a refusal that names the limit, and its first group is the number. `limit` is nil if
	// this wording never names the limit.
	limit pattern
}

// A pattern is compiled when it is first used. Few processes see a refusal, and compiling all patterns would take a
// tenth of a process's start-up time.
type pattern func() *regexp.Regexp

// `number` matches a token count with or without separators, for example "200000", "200,000" or "200 000".
const number = `([0-9][0-9,_'\x{a0}\x{202f}]*)`

// detectText tries the families in this order, and uses the first limit that one of them finds. One text may contain
// both a precise and a vague wording, so the families that name the limit come first.
var families = []family{
	// "prompt is too long: 210000 tokens > 200000 maximum". In a body from Go's
	// JSON encoder, the sign ">" is \u003e.
	of("anthropic", `prompt is too long`, `(?:>|\\u003e)\s*`+number+`\s*(?:tokens?\s*)?max`),
	// "input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000"
	of("anthropic with output", `exceeds? context limit`, `context limit[^>]{0,80}(?:>|\\u003e)\s*`+number),
	of("bedrock", `input is too long for requested model`, ``),
	// "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."
	of("gemini", `input token count.{0,60}exceeds the maximum`, `exceeds the maximum[^0-9]{0,60}`+number),
	of("xai", `maximum prompt length is `+number, `maximum prompt length is `+number),
	of("mistral", `too large for model with `+number+` maximum context length`, `too large for model with `+number+` maximum context length`),
	of("vllm", `context length is only `+number+` tokens`, `context length is only `+number),
	// In "input length 9000 exceeds the context length of 8192", the second number is the limit.
	of("vllm input", `input length.{0,60}exceeds?.{0,40}context length`, `exceeds?.{0,40}context length[^0-9]{0,10}`+number),
	of("openrouter", `maximum context length is `+number+` tokens`, `maximum context length is `+number),
	// "exceeded model token limit: 262144 (requested: 291351)"
	of("moonshot", `exceeded model token limit`, `exceeded model token limit[^0-9]{0,10}`+number),
	of("copilot", `exceeds the limit of `+number, `exceeds the limit of `+number),
	// "the request exceeds the available context size; context size is 8192 tokens", or "available context size
	// (8192 tokens)", or "n_ctx":8192.
	of("llama.cpp", `exceeds the available context size`, `(?:context size(?: is| of|:)?[ (]{1,2}|"n_ctx"\s*:\s*)`+number),
	of("lm studio", `greater than the context length`, `context length of (?:only )?`+number),
	of("openai", `exceeds the context window`, ``),
	of("groq", `reduce the length of the messages`, ``),
	// "context window exceeds limit (2013)": 2013 is an error code.
	of("minimax", `context window exceeds limit`, ``),
	of("openai code", `context[_ ]length[_ ]exceeded`, ``),
	// These wordings refuse a request because of its size in bytes, for example above Anthropic's 32 MB. They name no
	// limit in tokens, but the next request must still be smaller.
	of("gateway", `request entity too large`, ``),
	of("request size", `(?:request|payload)[_ ]?too[_ ]?large|request[_ ](?:body|payload|size|content)[_ ](?:is[_ ])?too[_ ]large|`+
		`request (?:body |payload )?(?:size )?exceed(?:s|ed) (?:the |its )?(?:max|limit|allowed|size)`, ``),
	// In "prompt too long; exceeded max context length by 4200 tokens", the number is not the limit but the excess. So
	// this family finds no limit.
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

func compile(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)` + expression) })
}

// anyMaximum finds the limit in other wordings, for example "maximum context length is 8192". It does not match
// an excess, for example "maximum context length by 4200 tokens".
var anyMaximum = compile(`max(?:imum)?[^0-9.\n]{0,20}context (?:length|size|window)(?: is| of|:)?[ (]{1,2}` + number)

// rateLimit recognises a quota, for example "exceeds the limit of 30000 tokens per minute". The number in a
// quota must not become the model's prompt limit.
var rateLimit = compile(`rate[ _-]?limit|tokens? per (?:min|hour|day|sec)|requests? per (?:min|hour|day|sec)|\b[rt]p[md]\b|too many requests`)

var (
	standalone413 = compile(`\b413\b`)
	aboutPrompt   = compile(`entity|payload|context|prompt|request|content|body|input|message|too (?:large|big|long)`)
)

// firstLimit returns the first number that p finds and that is in the range of possible limits, or 0.
func firstLimit(p pattern, text string) int {
	for _, groups := range p().FindAllStringSubmatch(text, -1) {
		if n := parse(groups[1]); n >= minLimit && n <= maxLimit {
			return n
		}
	}
	return 0
}

// The function `parse` reads a number with separators, for example "131,072". Three digits must follow a separator.
// Other punctuation ends the number: "131072, but" and "8192,16384" give 131072 and 8192.
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
	if err != nil { // too large for an int, so larger than any limit
		return 0
	}
	return n
}
