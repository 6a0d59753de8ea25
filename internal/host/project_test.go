package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/schema"
)

// No pass waits for the identity of a project. While the identity is unknown, the session learns no facts. Later, all
// directories of the project share the memories.
func TestProjectIsFoundOutsideOfPasses(t *testing.T) {
	h := answering(t, learning)
	type answer struct {
		identity string
		err      error
	}
	answers := make(chan answer)
	h.identify = func(ctx context.Context, _ string) (string, error) {
		select {
		case a := <-answers:
			return a.identity, a.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	h.stop()
	h.start()
	h.talk(0, 20, 950, 40_000)
	h.user("now", "go on")
	h.pass()
	answers <- answer{err: errors.New("git is missing")} // the answer for the opened directory
	answers <- answer{err: errors.New("git is slow")}    // the answer for the run of the historian
	h.settle()
	if len(h.compartments()) == 0 || h.row().Project != "" || len(h.memories("git:1")) > 0 {
		t.Fatalf("without an identity: %d compartments, project %q, memories %+v", len(h.compartments()), h.row().Project, h.memories("git:1"))
	}

	h.talk(20, 20, 950, 40_000)
	h.user("then", "go on")
	h.pass()
	answers <- answer{identity: "git:1"}
	h.settle()
	if known := h.memories("git:1"); len(known) != 1 || known[0].Directory != "/p" {
		t.Fatalf("with an identity: memories %+v", known)
	}

	h.identify = func(context.Context, string) (string, error) { return "git:1", nil }
	h.project = "/worktree"
	h.stop()
	h.start()
	if _, err := h.host.Initialize(t.Context(), h, schema.InitializeParams{Harness: h.kind, Directory: h.project}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.flush()
	h.pass()
	if row := h.row(); row.Project != "git:1" || row.Directory != h.project || !strings.Contains(h.wire(), `<memory id="1"`) {
		t.Errorf("project %q, directory %q, wire %s", row.Project, row.Directory, h.wire())
	}
}

func TestProjectIsFoundDuringASession(t *testing.T) {
	h := answering(t, learning)
	h.talkLong()
	h.identify = func(context.Context, string) (string, error) { return "", errors.New("git is missing") }
	h.stop()
	h.start()
	h.settle()
	h.pass()
	h.settle() // the historian looks for the project, too
	former := project.OfDirectory(h.project)
	if got := h.row().Project; got != former {
		t.Fatalf("the stored identity is gone: %q", got)
	}
	h.host.sessions.Projects.Identify = func(context.Context, string) (string, error) { return "git:1", nil }
	h.host.sessions.FindProject(t.Context(), h.project)
	h.flush()
	h.pass()
	if h.row().Project != "git:1" || len(h.memories(former)) > 0 || !strings.Contains(h.wire(), `<memory id="1"`) {
		t.Errorf("project %q, wire %s", h.row().Project, h.wire())
	}

	// git refuses a repository that belongs to another user.
	h.identify = func(context.Context, string) (string, error) { return former, nil }
	h.stop()
	h.start()
	h.settle()
	h.pass()
	if got := h.row().Project; got != "git:1" {
		t.Errorf("the session has left its project: %q", got)
	}
}

func (h *harness) memories(project string) []chronicle.Memory {
	h.t.Helper()
	m, err := h.store.Memories.Of(h.t.Context(), project, h.clock.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	return m.Memories
}
