package overflow

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

// An Overflow is a prompt that a provider refused because of its length.
type Overflow struct {
	// LimitTokens is how long a prompt may be, 0 where the provider does not say.
	LimitTokens int
	// Family names the wording that gave it away, for the log.
	Family string
}

// A limit outside these bounds is another number of the message: an error code,
// a count of messages, a size in bytes (spec history §17).
const (
	minLimit = 1_024
	maxLimit = 10_000_000
)

// classified is how OpenCode names an overflow that it has recognised itself,
// by the HTTP status or by wordings that it knows.
const classified = "ContextOverflowError"

// maxText bounds what is searched of one text. Providers put their message
// first; what follows may be a page of HTML, or the prompt.
const maxText = 4 << 10

// Detect reads an error as the harness reports it: a text, or an object with
// the provider's message somewhere in it. It never fails; what it cannot read
// is no overflow.
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
		if o.LimitTokens > 0 { // the body may say what the message leaves out
			found.LimitTokens = o.LimitTokens
			break
		}
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
	if rateLimit.MatchString(text) {
		return Overflow{}, false
	}
	var o Overflow
	for _, f := range families {
		if !f.phrase.MatchString(text) {
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
	return o, true
}

// isTooLargeByStatus recognises a refusal by its status, which alone may mean
// an upload: the text has to speak of a prompt as well.
func isTooLargeByStatus(text string, status int) bool {
	return (status == 413 || standalone413.MatchString(text)) && aboutPrompt.MatchString(text)
}

// extracted is what can be read of an error.
type extracted struct {
	name   string
	status int
	// texts are the places where the provider's words may be, best first.
	texts []string
}

// extract finds the texts of an error: a bare string, error.message, message,
// responseBody, and where there is none of them the whole object, so that a
// shape nobody knows is read too. Headers are left out: their numbers and names
// mean nothing here. OpenCode keeps all of it in `data`.
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
		// An array, a number, or a name that is no text: only its own words are left.
		return extracted{texts: nonEmpty(string(err))}
	}
	e := extracted{name: object.Name}
	for _, holder := range []json.Value{object.Data, err} {
		texts, status := textsOf(holder)
		e.texts = append(e.texts, texts...)
		if e.status == 0 {
			e.status = status
		}
	}
	if len(e.texts) == 0 {
		e.texts = nonEmpty(string(err))
	}
	return e
}

func textsOf(holder json.Value) (texts []string, status int) {
	if len(holder) == 0 {
		return nil, 0
	}
	// Each member is read alone: one of an unexpected type must not hide the others.
	var members map[string]json.Value
	if json.Unmarshal(holder, &members) != nil {
		return nil, 0
	}
	var nested map[string]json.Value
	if json.Unmarshal(members["error"], &nested) == nil {
		texts = append(texts, nonEmpty(textOf(nested["message"]))...)
	}
	texts = append(texts, nonEmpty(textOf(members["error"]))...)
	texts = append(texts, nonEmpty(textOf(members["message"]))...)
	texts = append(texts, nonEmpty(textOf(members["responseBody"]))...)
	_ = json.Unmarshal(members["statusCode"], &status) // absent in most errors
	return texts, status
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
