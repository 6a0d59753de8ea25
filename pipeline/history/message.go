package history

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Message is one raw message as the trigger sees it.
type Message struct {
	// Ordinal is the message's place in the session, from 1. See Number.
	Ordinal int
	// Key is the harness's id of the message.
	Key  string
	Role transcript.Role
	// Tokens is the size of the raw message. Dropped units count, because their content
	// still has to be summarised.
	Tokens int
	// Reads is the number of tokens that the historian reads of the message: its words
	// and the beginning of its calls, but not their results.
	Reads int
	// Texts holds the words of the message's author. It leaves out words that a harness
	// or a plugin has put into a user's text, for example a system reminder.
	Texts []string
	Calls []Call
}

// A Call is the half of a tool arc that a message holds, or the whole arc.
type Call struct {
	ID, Tool string
	// Input holds the arguments, for example {"filePath":"a.go"}.
	Input json.Value
	// Asks says that the message holds the call. Answers says that it holds the result.
	Asks, Answers bool
}

// MessageOf returns the trigger's view of a message that has an ordinal and a size in
// tokens. A message that the harness keeps from the provider has no texts and no calls:
// a historian is a provider's model, too.
func MessageOf(m *transcript.Message, ordinal, tokens int) Message {
	out := Message{Ordinal: ordinal, Key: m.Key, Role: m.Role, Tokens: tokens}
	if m.Hidden {
		return out
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == transcript.Text && !p.Hidden:
			if said := saidIn(m.Role, p.Text); strings.ContainsFunc(said, isNoSpace) {
				out.Texts = append(out.Texts, said)
			}
		case p.Kind == transcript.Tool:
			out.Calls = append(out.Calls, Call{ID: p.CallID, Tool: p.Name, Input: p.Input, Asks: true, Answers: p.HasResult()})
		}
	}
	return out
}

// saidIn returns the part of a text that its author wrote. Plugins write into the texts
// of users only.
func saidIn(role transcript.Role, s string) string {
	if role != transcript.User {
		return s
	}
	s = text.StripInjections(s)
	if text.IsInjectedOnly(s) {
		return ""
	}
	return s
}

func isNoSpace(r rune) bool { return !text.IsJSSpace(r) }

// IsPrompt reports whether a user has said something in the message.
func (m *Message) IsPrompt() bool { return m.Role == transcript.User && len(m.Texts) > 0 }
