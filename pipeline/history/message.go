package history

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
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
	// Texts holds the words of the message's author: what the user has typed, or what the
	// model has written. It leaves out words that a harness or a plugin has put into a
	// user's text, for example a system reminder.
	Texts []string
	// Others holds the texts of others in a message of the user, for example the content
	// of an attached file.
	Others []transcript.Said
	Calls  []Call
	// Digest identifies the content. It does not depend on ids and times of parts, so
	// it is the same in the harness's array and in its database.
	Digest uint64
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
	out := Message{Ordinal: ordinal, Key: m.Key, Role: m.Role, Tokens: tokens, Digest: digestOf(m)}
	if m.Hidden {
		return out
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == transcript.Text && !p.Hidden:
			for _, s := range p.Said() {
				out.say(s)
			}
		case p.Kind == transcript.Tool:
			out.Calls = append(out.Calls, Call{ID: p.CallID, Tool: p.Name, Input: p.Input, Asks: true, Answers: p.HasResult()})
		}
	}
	return out
}

// say adds a text. It leaves out what a harness or a plugin has put into it. They write
// into prompts only.
func (m *Message) say(s transcript.Said) {
	if s.Origin == transcript.FromUser || s.Origin == transcript.FromHarness {
		if s.Text = text.StripInjections(s.Text); text.IsInjectedOnly(s.Text) {
			return
		}
	}
	switch {
	case !strings.ContainsFunc(s.Text, isNoSpace):
	case s.Origin == authorOf(m.Role):
		m.Texts = append(m.Texts, s.Text)
	default:
		m.Others = append(m.Others, s)
	}
}

// authorOf returns the origin of the words that a message of this role is for.
func authorOf(role transcript.Role) transcript.Origin {
	if role == transcript.User {
		return transcript.FromUser
	}
	return transcript.FromAgent
}

func isNoSpace(r rune) bool { return !text.IsJSSpace(r) }

// IsPrompt reports whether a user has said something in the message.
func (m *Message) IsPrompt() bool { return m.Role == transcript.User && len(m.Texts) > 0 }

// digestOf hashes the content of a message that can reach a model. Lengths are part of
// the hash, so that two neighbouring texts do not hash like one.
func digestOf(m *transcript.Message) uint64 {
	d := digest{sha256.New()}
	d.add(string(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Hidden && p.Kind != transcript.Reasoning {
			continue // a step mark, or an ignored notice that comes and goes
		}
		d.number(int(p.Kind))
		d.add(p.Text)
		d.add(p.Name)
		d.add(p.CallID)
		d.add(p.URL)
		d.bytes(p.Input)
		d.bytes(p.Attachments)
		d.bytes(p.Raw)
		if p.HasResult() {
			d.number(1)
		}
	}
	return d.sum()
}

// A digest writes values with their lengths into a hash.
type digest struct{ hash.Hash }

func (d digest) add(s string) { d.bytes([]byte(s)) }

func (d digest) bytes(b []byte) {
	d.number(len(b))
	d.Write(b)
}

func (d digest) number(n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	d.Write(b[:])
}

func (d digest) sum() uint64 { return binary.LittleEndian.Uint64(d.Sum(nil)) }
