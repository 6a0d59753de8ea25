package fault

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// If a session continues without its host, the shim stores a message about this in the session at the end of a turn.
// The bug: if the user sent a prompt at that moment, OpenCode called the model once more, with an array that ended in
// an answer. Each prompt must cause exactly one request, and the session must get exactly one message.
func TestMarkMeetsAPrompt(t *testing.T) {
	const spread = 80 * time.Millisecond // the spread of the moments at which the second prompts come
	s := newScene(t, schema.HarnessOpenCode)
	s.start()
	s.works()
	s.restart(func() { must(t, os.Remove(s.binary)) })
	sessions := 10
	if suite.All() {
		sessions = 40
	}
	for i := range sessions {
		s.newSession()
		_, took := s.prompt("One.")
		s.newSession()
		late := took + spread*time.Duration(i)/time.Duration(sessions) - spread/2
		first := make(chan error, 1)
		go func() {
			first <- s.oc.Send(s.ctx, s.session, opencodetest.Prompt{Text: "One."})
		}()
		time.Sleep(late)
		must(t, s.oc.Send(s.ctx, s.session, opencodetest.Prompt{Text: "Two."}))
		must(t, <-first)
		if n := s.marks(); n != 1 {
			t.Errorf("session %d has %d messages about the host, want 1", i, n)
		}
		if texts := s.asked(); len(texts) > 2 || texts[len(texts)-1] != "Two." {
			t.Errorf("session %d, second prompt after %v: the model is asked %q", i, late, texts)
		}
	}
}

func (s *scene) asked() (texts []string) {
	for _, r := range s.mock.Requests() {
		if r.Session() == s.session {
			texts = append(texts, lastText(r))
		}
	}
	return texts
}

func (s *scene) marks() (n int) {
	s.t.Helper()
	for range 1000 {
		messages, err := s.oc.(*agent.OpenCode).Messages(s.ctx, s.session)
		must(s.t, err)
		for _, m := range messages {
			if m.Info.Role == "user" && len(m.Parts) == 1 && strings.HasPrefix(m.Parts[0].Text, "magicctx is not working") {
				n++
			}
		}
		if n > 0 {
			return n
		}
		time.Sleep(20 * time.Millisecond)
	}
	return n
}
