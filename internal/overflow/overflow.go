package overflow

import (
	"cmp"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

type Overflow struct {
	// LimitTokens is the longest prompt that the provider accepts, or 0 if unknown. Some providers also count the
	// longest possible answer, for example "195000 + 21333 > 200000". LimitTokens then leaves room for this answer:
	// here it is 178,667.
	LimitTokens int
	// PromptTokens is the length of the refused prompt, or 0 if unknown.
	PromptTokens int
	Family       string
}

// A number outside these bounds is ignored. It is not a limit, but perhaps an error code, a count of messages, or a
// size in bytes.
const (
	minLimit = 1_024
	maxLimit = 10_000_000
)

// OpenCode uses this name if it has recognised the overflow itself, by the HTTP status or the wording.
const classified = "ContextOverflowError"

// Only this many bytes of a text are searched. Providers put their message first, before any HTML.
const maxText = 4 << 10

// Detect reads an error as the harness reports it: a string, or an object that contains the provider's message.
// If it cannot read the error, it reports no overflow.
func Detect(err json.Value) (Overflow, bool) {
	e := extract(err)
	var found Overflow
	detected := false
	for _, text := range e.texts {
		o, ok := detectText(text, e.status)
		if !ok {
			continue
		}
		if !detected {
			found, detected = o, true
		}
		// The texts of an error may complete each other. For example, the response body may name numbers that the
		// message leaves out.
		found.LimitTokens = cmp.Or(found.LimitTokens, o.LimitTokens)
		found.PromptTokens = cmp.Or(found.PromptTokens, o.PromptTokens)
	}
	if !detected && e.name == classified {
		return Overflow{Family: "harness"}, true
	}
	return found, detected
}

func detectText(text string, status int) (Overflow, bool) {
	if len(text) > maxText {
		text = text[:maxText]
	}
	if rateLimit().MatchString(text) {
		return Overflow{}, false
	}
	var o Overflow
	for _, f := range families {
		if !f.phrase().MatchString(text) {
			continue
		}
		if o.Family == "" {
			o.Family = f.name
		}
		if o.LimitTokens == 0 && f.limit != nil {
			o.LimitTokens = firstLimit(f.limit, text)
		}
	}
	if o.Family == "" && isTooLargeByStatus(text, status) {
		o.Family = "413"
	}
	if o.Family == "" {
		return Overflow{}, false
	}
	if o.LimitTokens == 0 {
		o.LimitTokens = firstLimit(anyMaximum, text)
	}
	if rest := o.LimitTokens - answerRoom(text); rest >= minLimit {
		o.LimitTokens = rest
	}
	o.PromptTokens = promptSize(text, o.LimitTokens)
	return o, true
}

// HTTP status 413 can have another cause, so the text must also mention a prompt, a request or a size.
func isTooLargeByStatus(text string, status int) bool {
	return (status == 413 || standalone413().MatchString(text)) && aboutPrompt().MatchString(text)
}

type extracted struct {
	name   string
	status int
	// The most likely place of the provider's message comes first.
	texts []string
}

// The function `extract` returns a string error as it is. From an object, it collects the members `message`,
// `responseBody` and `response.body`. It also looks for them inside the member `error` and (OpenCode 1) inside `data`.
// If an object has none of these members, its whole JSON is the text. Headers are skipped, because Detect would misread
// their numbers and names.
func extract(err json.Value) extracted {
	var text string
	if json.Unmarshal(err, &text) == nil {
		return extracted{texts: []string{text}}
	}
	var object struct {
		Name string     `json:"name"`
		Data json.Value `json:"data"`
	}
	if json.Unmarshal(err, &object) != nil {
		// The error is an array, a number, or an object whose name is not a string. Its raw JSON is the only text.
		return extracted{texts: nonEmpty(string(err))}
	}
	e := extracted{name: object.Name}
	var codes []string
	for _, holder := range []json.Value{object.Data, err} {
		texts, ofHolder, status := textsOf(holder)
		e.texts = append(e.texts, texts...)
		codes = append(codes, ofHolder...)
		if e.status == 0 {
			e.status = status
		}
	}
	if len(e.texts) == 0 {
		e.texts = nonEmpty(string(err))
	}
	e.texts = append(e.texts, codes...)
	return e
}

// textsOf returns the texts, the error codes (for example "context_length_exceeded") and the HTTP status of one
// object.
func textsOf(holder json.Value) (texts, codes []string, status int) {
	if len(holder) == 0 {
		return nil, nil, 0
	}
	// Each member is decoded alone, so that a member of an unexpected type does not hide the others.
	var members map[string]json.Value
	if json.Unmarshal(holder, &members) != nil {
		return nil, nil, 0
	}
	var nested map[string]json.Value
	if json.Unmarshal(members["error"], &nested) == nil {
		texts = append(texts, nonEmpty(textOf(nested["message"]))...)
		codes = append(codes, nonEmpty(textOf(nested["type"]))...)
		codes = append(codes, nonEmpty(textOf(nested["code"]))...)
	}
	codes = append(codes, nonEmpty(textOf(members["code"]))...)
	texts = append(texts, nonEmpty(textOf(members["error"]))...)
	texts = append(texts, nonEmpty(textOf(members["message"]))...)
	texts = append(texts, nonEmpty(textOf(members["responseBody"]))...)
	var response struct {
		Body string `json:"body"`
	}
	_ = json.Unmarshal(members["response"], &response) // OpenCode 2 has the body here
	texts = append(texts, nonEmpty(response.Body)...)
	for _, name := range []string{"statusCode", "status"} {
		_ = json.Unmarshal(members[name], &status) // most errors have no status
	}
	return texts, codes, status
}

func textOf(v json.Value) string {
	var text string
	if json.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}

func nonEmpty(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []string{text}
}
