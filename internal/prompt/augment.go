package prompt

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

type attachment struct {
	text string
	end  func() // ends the work on a better text; it may be nil
}

var attached = session.NewLastingSlot[attachment]()

// Attach stores a text that is added to the session's next prompt, in place of the text of an earlier Attach. The text
// may contain words that the user has not written, for example the output of a tool. `end` may be nil. Otherwise, it is
// called as soon as the text has been added to a prompt or replaced. The caller holds the session's lock.
func (pr *Prompts) Attach(s *session.Session, text string, end func()) {
	a := attached.Of(s)
	if a.end != nil {
		a.end()
	}
	*a = attachment{text, end}
}

// augment adds the attached text to a new prompt, as a note of the host. If the pass fails, the prompt is sent
// without the text.
func (pr *Prompts) augment(ps *pass.Pass) {
	s := ps.Session
	a := attached.Of(s)
	isPrompt := func(n pipeline.New) bool { return n.Part.Kind == transcript.Text && n.Message.Role == transcript.User }
	if a.text == "" && a.end == nil || !slices.ContainsFunc(s.Pipe.News(), isPrompt) {
		return
	}
	tag := s.Pipe.NotePlace()
	if tag == 0 {
		return
	}
	if a.text != "" {
		ps.Note(tag, "<sidekick-augmentation>\n"+format.WithoutMarkup(a.text)+"\n</sidekick-augmentation>")
		pr.Log.Debug("added findings to a prompt", "session", s.Key.Session, "pass", s.Row.Passes+1, "tag", tag)
	}
	pr.Attach(s, "", nil)
}
