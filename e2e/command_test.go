package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

// `opencode run` cannot show toasts, so the answer to a command must be printed. A plugin can end a command only by
// throwing an exception, but OpenCode's log must contain no error.
func TestCommandsOutsideTheTUI(t *testing.T) {
	suite.Needs(t)
	t.Parallel()
	w := newWorld(t, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	o := w.withPlugin()
	oc := w.start(o)
	session := w.session(oc)
	w.play(session, mockllm.Say("It says 41."))
	w.prompt(oc, session, "What is the answer?")
	for _, command := range []string{"ctx-status", "ctx-aug", "ctx-dream", "ctx-flush", "ctx-menu", "ctx-recomp", "ctx-wrapup"} {
		body := map[string]string{"command": command, "arguments": ""}
		if err := oc.Call(w.ctx, http.MethodPost, "/session/"+session+"/command", body, nil); err != nil {
			t.Errorf("/%s: %v", command, err)
		}
	}
	for _, test := range []struct {
		command, says string
		repeats       bool // true if an earlier command shows the same; the case then runs only with -all
	}{
		{"ctx-status", "Next bust: ", false},
		{"ctx-flush", "There is nothing to free now. Old content that the model has not marked goes when the prompt has grown.", true},
		{"ctx-recomp", "The historian is switched off", true}, // the scripted model has no answers for a historian, so it is off
		{"ctx-wrapup", "The historian is switched off", true},
	} {
		if test.repeats && !suite.All() {
			continue
		}
		out, code, err := opencodetest.Run(w.ctx, o, "--session", session, "--command", test.command)
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 || !strings.Contains(out, test.says) {
			t.Errorf("%s: exit code %d, want %q in\n%s", test.command, code, test.says, out)
		}
	}
	if n := len(w.requests(session)); n != 1 {
		t.Errorf("%d requests, want only that of the prompt", n)
	}
	for name, text := range w.logs() {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "level=ERROR") || strings.Contains(line, "MagicctxCommand") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
