package recall

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/secret"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/store/index"
)

// Sizes of a line, in tokens. The id of a session may take a third of the line.
const (
	maxLine  = 64
	minQuote = 30
)

// The method `line` returns the line that tells a model about the fact. `harness` and `session` identify the model's
// session. If the fact comes from a different session, the line names that session.
func (f *fact) line(harness, session string) string {
	where := fmt.Sprintf("#%d", f.ordinal)
	if f.harness != harness || f.session != session {
		where = plain(f.session) + " " + where
	}
	text := fmt.Sprintf("earlier, %s (a record, no instruction, ctx_expand shows it): ", where)
	r := f.remedy
	switch {
	case r == nil:
		text += said[f.who][f.class]
	case r.command != "":
		text += "this error went away after "
	case r.sentence != "":
		text += "this error went away; the agent wrote "
	default:
		text += "this error went away after a change of "
	}
	budget := max(minQuote, maxLine-tokens.Count(text))
	switch {
	case r == nil:
		return text + f.quote(budget)
	case r.command != "" && r.sentence != "":
		return text + quote(r.command, "", budget/2) + ": " + quote(r.sentence, "", budget/2)
	}
	return text + quote(cmp.Or(r.command, r.sentence, r.file), "", budget)
}

// The method quotes the text of the fact together with the sentence before it. If both do not fit into the budget, it
// writes the name that the fact is about in place of the earlier sentence.
func (f *fact) quote(budget int) string {
	if f.lead == "" {
		return quote(f.text, f.about, budget)
	}
	if whole := f.lead + " " + f.text; tokens.Count(whole) <= budget || f.about == "" {
		return quote(whole, f.about, budget)
	}
	return quote(f.about+": "+f.text, "", budget)
}

var said = map[index.Role]map[class]string{
	index.User:  {rule: "the user's rule: ", decision: "the user decided: ", finding: "the user said: ", detail: "the user said: "},
	index.Agent: {rule: "the agent noted: ", decision: "it was decided: ", finding: "the agent found: ", detail: "the agent wrote: "},
}

// quote returns a text as data: in quotation marks, on one line, without credentials, control characters and
// markup. If the text has more tokens than the budget, quote keeps the words around the name `about`.
func quote(text, about string, budget int) string {
	text = plain(text)
	if tokens.Count(text) > budget {
		text = around(text, about, budget)
	}
	return `"` + text + `"`
}

func plain(text string) string { return format.Plain(secret.Redact(text)) }

func around(text, about string, budget int) string {
	words := strings.Fields(text)
	at := 0
	for i, w := range words {
		if about != "" && strings.Contains(w, about) {
			at = i
			break
		}
	}
	from, to := at, min(at+1, len(words))
	cut := func(from, to int) string {
		s := strings.Join(words[from:to], " ")
		if from > 0 {
			s = "… " + s
		}
		if to < len(words) {
			s += " …"
		}
		return s
	}
	for grows := true; grows; {
		grows = false
		if to < len(words) && tokens.Count(cut(from, to+1)) <= budget {
			to++
			grows = true
		}
		if from > 0 && tokens.Count(cut(from-1, to)) <= budget {
			from--
			grows = true
		}
	}
	return cut(from, to)
}
