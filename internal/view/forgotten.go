package view

import (
	"cmp"
	"fmt"
	"io"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/words"
)

// A Leaving says when content left the prompt. Pass is the first request without the content. If the time (At, in Unix
// ms) and the cause are not known, they are zero.
type Leaving struct {
	Pass  int    `json:"request"`
	At    int64  `json:"at,omitzero"`
	Cause string `json:"cause,omitzero"`
}

type DroppedPiece struct {
	Tag     int     `json:"tag"`
	Kind    string  `json:"kind"`
	Tool    string  `json:"tool,omitzero"`
	Edit    string  `json:"edit"` // drop, skeleton (the call stays) or withhold (a note stays)
	Rule    string  `json:"rule,omitzero"`
	Leaving Leaving `json:"left"`
}

type SummaryOf struct {
	Title string `json:"title"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Forgotten says where a message went.
type Forgotten struct {
	Found Found `json:"message"`
	// IsKnown is false if magicctx has never sent the message.
	IsKnown    bool           `json:"known"`
	Dropped    []DroppedPiece `json:"dropped,omitempty"`
	Summarised *Leaving       `json:"summarised,omitempty"`
	Summary    *SummaryOf     `json:"summary,omitempty"`
	// IsPinned means that the prompt has the message word for word, although the message is summarised.
	IsPinned bool `json:"pinned,omitzero"`
}

// IsGone reports whether something of the message has left the prompt.
func (f *Forgotten) IsGone() bool {
	return len(f.Dropped) > 0 || f.Summarised != nil && !f.IsPinned
}

// PrintForgotten prints the message, when and why it left the prompt, what replaces it, and how to read it again.
// `program` is the command that starts magicctx.
func PrintForgotten(w io.Writer, f Forgotten, program string, p Page) error {
	if err := PrintFound(w, []Found{f.Found}, p); err != nil {
		return err
	}
	s := p.screen()
	s.line("")
	say := func(text string) { s.paragraph(Plain, "", text) }
	switch {
	case !f.IsKnown:
		say("magicctx has never sent this message: it did not work in this session, or the session has made no request since.")
	case f.IsPinned:
		say("A summary covers this message, but its words stay in the prompt.")
	case !f.IsGone():
		say("magicctx has not removed it. The model sees it while the session is open, unless it was taken back or the harness has compacted it.")
	}
	for _, d := range f.Dropped {
		text := fmt.Sprintf("%s left the prompt with %s. ", format.Piece(d.Tag, cmp.Or(d.Tool, d.Kind), ""), d.Leaving.in(p))
		if d.Rule != "" {
			text += words.Rule(d.Edit, d.Rule) + " "
		}
		say(text + StandIn(d.Edit, d.Tag))
	}
	if f.Summarised != nil && !f.IsPinned {
		text := "A summary stands for it now"
		if f.Summary != nil {
			text = fmt.Sprintf("The summary %q of the messages %d-%d stands for it now", format.Clean(f.Summary.Title), f.Summary.Start, f.Summary.End)
		}
		if f.Summarised.Pass > 0 {
			text += ", since " + f.Summarised.in(p)
		}
		say(text + ".")
	}
	s.line("")
	say(fmt.Sprintf("To read it: %s history expand %s %d --harness %s", program, format.Clean(f.Found.Session), f.Found.Ordinal, format.Clean(f.Found.Harness)))
	switch {
	case f.IsKnown && !f.IsGone(): // the model sees it
	case f.IsKnown && f.Summarised == nil:
		say(fmt.Sprintf("To bring it back: /ctx-menu taken keep %d in its session, or ask the model to read message %d with ctx_expand.", f.Dropped[0].Tag, f.Found.Ordinal))
	default:
		say(fmt.Sprintf("To bring it back: ask the model to read message %d with ctx_expand, or repeat it in your next prompt.", f.Found.Ordinal))
	}
	return s.print(w)
}

// The method `in` describes the request as a phrase, for example "request 37 (2026-11-20 12:01, getting full)".
func (l Leaving) in(p Page) string {
	if l.At == 0 {
		return fmt.Sprintf("request %d", l.Pass)
	}
	return fmt.Sprintf("request %d (%s, %s)", l.Pass, minute(l.At, p.Now.Location()), format.Cause(l.Cause))
}

// StandIn says what the model sees in the place of a piece that an edit has removed.
func StandIn(edit string, tag int) string {
	switch edit {
	case "skeleton":
		return "The call stays in the prompt without its result."
	case "withhold":
		return "A note that says how to read it in parts stands in its place."
	}
	return fmt.Sprintf("[dropped §%d§] stands in its place, or nothing if the whole call is old.", tag)
}
