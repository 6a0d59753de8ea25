package history

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

type Message struct {
	// Ordinal is the message's place in the session, from 1. See Number.
	Ordinal int
	// Key is the harness's id of the message.
	Key  string
	Role transcript.Role
	// Tokens is the size of the raw message. It includes dropped units, because the historian still has to summarise
	// them.
	Tokens int
	// Reads is the number of tokens that the historian reads: texts and the beginning of calls, but no results.
	Reads int
	// Texts holds the words of the message's author: typed by the user, or written by the model.
	Texts []string
	// Others holds text in the user's message that the user has not written, for example an attached file.
	Others []transcript.Said
	Calls  []Call
	// IsContinued means that the answer ends with calls that the provider itself runs, for example a web search. The
	// provider joins the next answer with this one, and Anthropic requires that the joined answer begins with the
	// thinking of the first. So a summary must not end between the two.
	IsContinued bool
}

// A Call is a tool call with its result, or only one of the two.
type Call struct {
	ID, Tool string
	// Input holds the arguments, for example {"filePath":"a.go"}.
	Input json.Value
	// Asks means that the message holds the call. Answers means that it holds the result.
	Asks, Answers bool
}

// MessageOf returns the trigger's view of a message, with its ordinal and its size in tokens. If the harness hides the
// message from the provider, the result has no texts and no calls, because the historian would send them to a provider.
func MessageOf(m *transcript.Message, ordinal, tokens int) Message {
	out := Message{Ordinal: ordinal, Key: m.Key, Role: m.Role, Tokens: tokens}
	if m.Hidden {
		return out
	}
	out.IsContinued = m.Finish == transcript.EndsWithCalls
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == transcript.Text && !p.Hidden:
			out.say(p)
		case p.Kind == transcript.Tool:
			out.Calls = append(out.Calls, Call{ID: p.CallID, Tool: p.Name, Input: p.Input, Asks: true, Answers: p.HasResult()})
			out.IsContinued = false
		}
	}
	return out
}

// The method `say` adds the text of a part to the message. If the harness wrote the text, reminders are removed from
// it. If the user wrote the text, a reminder in it stays, because the user may have typed it. But this reminder goes
// into Others, because the harness may have added it.
func (m *Message) say(p *transcript.Part) {
	words := "" // of the message's author
	for _, s := range p.Said() {
		if p.Origin == transcript.FromHarness {
			if s.Text = text.StripInjections(s.Text); text.IsInjectedOnly(s.Text) {
				continue
			}
		}
		switch {
		case s.Origin == authorOf(m.Role):
			words += s.Text
		case !isBlank(s.Text):
			m.Others = append(m.Others, s)
		}
	}
	if !isBlank(words) {
		m.Texts = append(m.Texts, strings.TrimFunc(words, text.IsJSSpace))
	}
}

func authorOf(role transcript.Role) transcript.Origin {
	if role == transcript.User {
		return transcript.FromUser
	}
	return transcript.FromAgent
}

func isBlank(s string) bool { return strings.TrimFunc(s, text.IsJSSpace) == "" }

func (m *Message) IsPrompt() bool { return m.Role == transcript.User && len(m.Texts) > 0 }
