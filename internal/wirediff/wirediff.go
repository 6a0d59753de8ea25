package wirediff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

const (
	// maxChanges bounds the pieces of one request, and maxText the bytes of a text.
	maxChanges, maxText = 200, 16 << 10
	// maxRead bounds the messages that are read for one request, in bytes. If the messages are longer, a page shows
	// only a part of the changes.
	maxRead = 128 << 20
)

// A Diff lists the changes that one request made to the conversation. Its texts are safe to print.
type Diff struct {
	Changes []Change `json:"changes"`
	More    int      `json:"more,omitzero"`
	// Missing says why some texts are missing, for example because the harness has deleted its session. It is empty if
	// no text is missing.
	Missing string `json:"missing,omitzero"`
}

// A Change describes a piece of the conversation that this request changed. Since then, the model sees After in place
// of Before.
type Change struct {
	// Message is the ordinal of the piece's message, or 0.
	Message int    `json:"message,omitzero"`
	Name    string `json:"name"` // for example "§12§ read src/main.go"
	Why     string `json:"why"`
	// Freed is the number of tokens that the change frees, for example "3.1k". It is empty if the change frees nothing.
	Freed  string `json:"freed,omitzero"`
	Before Text   `json:"before"`
	After  Text   `json:"after"`
	// If the change is a new summary, First and Last are the ordinals of the messages that it replaces. Otherwise, both
	// are 0.
	First int `json:"first,omitzero"`
	Last  int `json:"last,omitzero"`
}

// A Text is the text of a piece as the model sees it. If the text is long, only its beginning is here, and More is the
// number of bytes that follow.
type Text struct {
	Text string `json:"text"`
	More int    `json:"more,omitzero"`
	// Note replaces a text, for example "not sent".
	Note string `json:"note,omitzero"`
}

// A Request is the request to explain, with everything that the store knows about it.
type Request struct {
	Key    store.Key
	Pass   int
	At     int64 // Unix ms; 0 if the journal no longer has the request
	Within rawhistory.Session
	Snap   store.Snapshot
	// Before the request, summaries replaced the messages up to the ordinal Covered. Since the request, they replace
	// the messages up to Through.
	Covered, Through int
	Summaries        []chronicle.Compartment
}

// A Read reads messages of a harness's store, as rawhistory.Reader.Read does.
type Read func(ctx context.Context, s rawhistory.Session, start, end int, yield func(rawhistory.Message) bool) (rawhistory.Extent, error)

var errTooMuch = errors.New("the messages are too long: only the first 128 MB of them are compared")

// Of returns the changes that a request has made to the conversation.
func Of(ctx context.Context, r Request, read Read) (Diff, error) {
	d := Diff{Changes: []Change{}}
	d.Changes = append(d.Changes, r.summarised()...)
	codec, ok := transcript.CodecOf(r.Key.Harness)
	if !ok {
		return d, fmt.Errorf("there is no harness %q", format.Clean(r.Key.Harness))
	}
	edited := r.edited()
	if len(edited) > 0 {
		messages, err := r.messages(ctx, read)
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		if err != nil {
			d.Missing = format.CleanLines(err.Error())
		}
		d.Changes = append(d.Changes, r.compare(codec, messages, edited)...)
	}
	if n := len(d.Changes); n > maxChanges {
		d.Changes, d.More = d.Changes[:maxChanges], n-maxChanges
	}
	if isUnknown := len(edited) == 0 && len(d.Changes) == 0; isUnknown {
		d.Missing = "This request took nothing away. What the harness or the user has changed is not kept, so it cannot be shown."
	}
	return d, nil
}

type editOf struct {
	store.UnitRow
	edit store.EditRow
}

func (r Request) edited() map[int]editOf {
	edits := make(map[int]store.EditRow)
	for _, e := range r.Snap.Edits {
		if e.Pass == r.Pass {
			edits[e.Tag] = e
		}
	}
	all := make(map[int]editOf)
	for _, u := range r.Snap.Units {
		if e, ok := edits[u.Tag]; ok {
			all[u.Tag] = editOf{u, e}
		}
	}
	return all
}

func (r Request) summarised() (all []Change) {
	for _, c := range r.Summaries {
		first, last := max(c.Start, r.Covered+1), min(c.End, r.Through)
		if first > last {
			continue
		}
		change := Change{
			Message: first, First: first, Last: last, Name: fmt.Sprintf("messages %d-%d", first, last), Why: "Summaries stand for the oldest messages.",
			After: textOf("Summary \""+format.Clean(c.Title)+"\":\n"+strings.TrimSpace(format.CleanLines(c.Tiers[0])), ""),
		}
		if first == c.Start && last == c.End {
			change.Freed = format.Tokens(max(0, c.RawTokens-tokens.Count(c.Tiers[0])))
		}
		all = append(all, change)
	}
	if len(all) == 0 && r.Through > r.Covered {
		all = append(all, Change{
			First: r.Covered + 1, Last: r.Through, Message: r.Covered + 1, Name: fmt.Sprintf("messages %d-%d", r.Covered+1, r.Through), Why: "Summaries stand for the oldest messages.",
			After: Text{Note: "The summaries were taken back or made again since."},
		})
	}
	return all
}

// messages returns the messages that the request could change. They are older than the request, and no summary had
// replaced them before it (Covered) or has replaced them since (Through).
func (r Request) messages(ctx context.Context, read Read) (all []rawhistory.Message, err error) {
	const last = 1 << 40
	size := 0
	_, err = read(ctx, r.Within, max(r.Covered, r.Through)+1, last, func(m rawhistory.Message) bool {
		size += len(m.Raw)
		switch {
		case m.Raw == nil:
		case r.At > 0 && m.Decoded.Created > r.At || size > maxRead:
			return false
		default:
			all = append(all, m)
		}
		return true
	})
	if err == nil && size > maxRead {
		err = errTooMuch
	}
	return all, err
}

func (r Request) compare(codec transcript.Codec, messages []rawhistory.Message, edited map[int]editOf) (all []Change) {
	raws := make([]json.Value, len(messages))
	for i, m := range messages {
		raws[i] = m.Raw
	}
	var forms [2]*pipeline.Session
	for i := range forms {
		forms[i] = session.AsOf(r.Snap, r.Pass-1+i, codec)
		forms[i].Update(0, raws, "")
		forms[i].Render(pipeline.Decision{})
	}
	seen := make(map[int]bool)
	for _, m := range messages {
		before, after := pipeline.FormsOf(forms[0], m.Decoded.Key), pipeline.FormsOf(forms[1], m.Decoded.Key)
		for i := range min(len(before), len(after)) {
			was, is := formOf(before[i].Sent), formOf(after[i].Sent)
			if was == is {
				continue
			}
			e := edited[before[i].Tag]
			seen[before[i].Tag] = true
			all = append(all, changeOf(m.Ordinal, before[i], e, was, is, after[i].Sent != nil))
		}
	}
	var lost []Change
	for tag, e := range edited {
		if !seen[tag] {
			lost = append(lost, r.lost(e))
		}
	}
	slices.SortFunc(lost, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return append(all, lost...)
}

func changeOf(ordinal int, f pipeline.Form, e editOf, was, is string, isSent bool) Change {
	kind := cmp.Or(f.Raw.Name, string(f.Raw.Kind))
	c := Change{Message: ordinal, Name: format.Piece(f.Tag, kind, f.Label), Why: words.Rule(e.edit.Kind, e.edit.Payload), Before: textOf(was, ""), After: textOf(is, "")}
	if f.Tag == 0 {
		c.Name = format.Clean(kind)
	}
	if !isSent {
		c.After = Text{Note: "not sent"}
	}
	freed := tokens.Count(was) - tokens.Count(is)
	if f.Raw.Kind == transcript.File {
		freed = e.Tokens
	}
	if freed > 0 {
		c.Freed = format.Tokens(freed)
	}
	return c
}

// lost returns the change of a piece whose text cannot be shown, because the harness no longer has the message, or
// because a summary has replaced it.
func (r Request) lost(e editOf) Change {
	return Change{
		Name: format.Piece(e.Tag, cmp.Or(e.Tool, e.Kind), ""), Why: words.Rule(e.edit.Kind, e.edit.Payload), Freed: format.Tokens(e.Tokens),
		Before: Text{Note: "The text is gone: the harness no longer has this message, or a summary stood for it at the same time."},
	}
}

func formOf(p *transcript.Part) string {
	if p == nil {
		return ""
	}
	switch p.Kind {
	case transcript.Tool:
		text := p.Name + " " + string(p.Input)
		if p.HasResult() {
			text += "\n\n" + p.Text
		}
		if len(p.Attachments) > 0 {
			text += fmt.Sprintf("\n(attachments of %d bytes)", len(p.Attachments))
		}
		return text
	case transcript.File:
		if strings.HasPrefix(p.URL, "data:") {
			return fmt.Sprintf("file %s, %d bytes encoded", p.Mime, len(p.URL))
		}
		return "file " + p.Mime + " " + p.URL
	case transcript.Other:
		return string(p.Raw)
	}
	return p.Text
}

func textOf(text, note string) Text {
	cut := strings.ToValidUTF8(text[:min(len(text), maxText)], "")
	return Text{Text: format.CleanLines(cut), More: max(0, len(text)-maxText), Note: note}
}

// Session returns the facts that rawhistory needs to find the messages of a session and to number them.
func Session(b *store.Browser, name store.SessionName, summaries []chronicle.Compartment) (s rawhistory.Session, err error) {
	s = rawhistory.Session{Harness: schema.Harness(name.Key.Harness), ID: name.Key.Session, Directory: name.Directory}
	for _, c := range summaries {
		s.Know(c.Start, c.Keys)
	}
	s.Typed, err = b.Typed(name.Key)
	return s, err
}
