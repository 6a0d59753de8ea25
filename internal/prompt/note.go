package prompt

import (
	"context"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
)

const (
	// A reminder names at most maxReady notes, and quotes at most maxQuoted bytes of each. ctx_note shows the whole
	// text.
	maxReady  = 3
	maxQuoted = 400
)

// told lists the ready notes of which the model has been reminded, but whose reminders no pass has stored yet.
var told = session.NewSlot[[]int64]()

// tellReady reminds the model once of each note that is ready, for example a note that waited for a file. The
// reminder is added to content that was never sent, so it causes no bust.
func (pr *Prompts) tellReady(ctx context.Context, ps *pass.Pass) {
	s := ps.Session
	if s.Mode().IsSubagent || s.Row.Project == "" || len(*told.Of(s)) > 0 {
		return
	}
	tag := s.Pipe.NotePlace()
	if tag == 0 {
		return
	}
	ready, err := pr.Store.Memories.Untold(ctx, s.Row.Project, maxReady)
	if err != nil {
		pr.Guard.Wrote(err)
		pr.Log.Warn("the model is not told of its notes, because the database does not answer", "session", s.Key.Session, "error", err)
	}
	if len(ready) == 0 {
		return
	}
	for i := range ready {
		n := &ready[i]
		n.Condition, n.Reason, n.Content = format.Quote(n.Condition), format.Plain(n.Reason), format.Quote(format.Shorten(n.Content, maxQuoted))
		*told.Of(s) = append(*told.Of(s), n.ID)
	}
	var b strings.Builder
	_ = guidance().ExecuteTemplate(&b, "note_ready.md", ready) // the text is embedded and its data fits, so this cannot fail
	ps.Note(tag, strings.TrimSpace(b.String()))
	pr.Log.Debug("told the model of ready notes", "session", s.Key.Session, "pass", s.Row.Passes+1, "tag", tag, "notes", *told.Of(s))
}
