package pitest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

const repo = "../.."

func options(t *testing.T, v Version) (Options, *mockllm.Server) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the real Pi")
	}
	if _, err := Find(t.Context(), repo, v); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	project := t.TempDir()
	if err := opencodetest.NewProject(t.Context(), project, map[string]string{"notes.txt": "the answer is 41\n"}); err != nil {
		t.Fatal(err)
	}
	home, err := opencodetest.NewHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mock := mockllm.Start()
	t.Cleanup(mock.Close)
	return Options{Repo: repo, Version: v, Home: home, Project: project, MockURL: mock.URL()}, mock
}

func start(t *testing.T, v Version) (*Pi, *mockllm.Server) {
	t.Helper()
	o, mock := options(t, v)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	t.Cleanup(cancel)
	p, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("Pi printed:\n%s", p.Output())
		}
	})
	return p, mock
}

func each(t *testing.T, test func(*testing.T, Version)) {
	for _, v := range []Version{V087, V074} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

func TestTurnWithTools(t *testing.T) {
	each(t, func(t *testing.T, v Version) {
		p, mock := start(t, v)
		ctx := t.Context()
		for _, model := range []string{opencodetest.ClaudeModel, opencodetest.GPTModel} {
			mock.Reset()
			blocks := []mockllm.Block{mockllm.Text("Let me look."), mockllm.Tool("call1", "read", map[string]any{"path": "notes.txt"})}
			if model == opencodetest.ClaudeModel {
				blocks = append([]mockllm.Block{mockllm.Thinking("Where is it?", "c2ln"), mockllm.RedactedThinking("c2VjcmV0")}, blocks...)
			}
			mock.Enqueue(
				mockllm.Step{Blocks: blocks},
				mockllm.Step{Blocks: []mockllm.Block{
					mockllm.Tool("call2", "bash", map[string]any{"command": "wc -c < notes.txt"}),
					mockllm.Tool("call3", "bash", map[string]any{"command": "exit 3"}),
				}},
				mockllm.Say("It says 41."),
			)
			if _, err := p.NewSession(ctx); err != nil {
				t.Fatal(err)
			}
			if err := p.SetModel(ctx, model); err != nil {
				t.Fatal(err)
			}
			answer, err := p.Prompt(ctx, Prompt{Text: "What is the answer?"})
			if err != nil {
				t.Fatal(err)
			}
			if got := answer.Text(); got != "It says 41." {
				t.Errorf("answered %q", got)
			}
			state, err := p.State(ctx)
			if err != nil {
				t.Fatal(err)
			}
			requests := mock.Requests()
			if len(requests) != 3 {
				t.Fatalf("%s: %d requests, want one for each step", model, len(requests))
			}
			last := requests[2]
			results := map[string]string{}
			thinking := 0
			for _, m := range last.Messages {
				for _, c := range m.Content {
					switch c.Type {
					case "tool_result":
						results[c.ID] = c.Text
					case "thinking", "redacted_thinking":
						thinking++
					}
				}
			}
			if !strings.Contains(results["call1"], "the answer is 41") || strings.TrimSpace(results["call2"]) != "17" || !strings.Contains(results["call3"], "3") {
				t.Errorf("%s: tool results: %q", model, results)
			}
			if want := map[mockllm.Dialect]int{mockllm.Anthropic: 2}[last.Dialect]; thinking != want {
				t.Errorf("%s: %d blocks of thinking come back, want %d", model, thinking, want)
			}
			for i, r := range requests {
				if !r.IsPi() || r.Session() != state.SessionID {
					t.Errorf("%s: request %d comes from session %q, want %q", model, i, r.Session(), state.SessionID)
				}
				if i > 0 && r.Simulated.Read != requests[i-1].Simulated.Read+requests[i-1].Simulated.Write {
					t.Errorf("%s: request %d reads %+v from the simulated cache, after %+v", model, i, r.Simulated, requests[i-1].Simulated)
				}
			}
			if path := last.Path; last.Dialect == mockllm.Anthropic && path != "/v1/messages" {
				t.Errorf("the path is %s", path)
			}
		}
		if errs := p.ExtensionErrors(); len(errs) > 0 {
			t.Errorf("extension errors: %q", errs)
		}
	})
}

func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, v Version) {
		p, mock := start(t, v)
		ctx := t.Context()
		for range 20 {
			mock.Enqueue(mockllm.Say("Yes."))
		}
		prompt := func(text string) {
			t.Helper()
			if _, err := p.Prompt(ctx, Prompt{Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		texts := func() string {
			t.Helper()
			requests := mock.Requests()
			var all []string
			for _, m := range requests[len(requests)-1].Messages {
				all = append(all, m.Content[0].Text)
			}
			return strings.Join(all, " ")
		}
		prompt("One.")
		prompt("Two.")
		first, err := p.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := p.PromptEntry(ctx, "Two.")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Navigate(ctx, entry); err != nil {
			t.Fatal(err)
		}
		prompt("Three.")
		if got := texts(); got != "One. Yes. Three." {
			t.Errorf("after the navigation: %q", got)
		}
		if err := p.Reload(ctx); err != nil {
			t.Fatal(err)
		}
		prompt("Four.")
		if got := texts(); got != "One. Yes. Three. Yes. Four." {
			t.Errorf("after the reload: %q", got)
		}
		if entry, err = p.PromptEntry(ctx, "Four."); err != nil {
			t.Fatal(err)
		}
		fork, err := p.Fork(ctx, entry)
		if err != nil || fork == first.SessionID {
			t.Fatalf("fork: %q, %v", fork, err)
		}
		prompt("Five.")
		if got := texts(); got != "One. Yes. Three. Yes. Five." {
			t.Errorf("in the fork: %q", got)
		}
		if id, err := p.NewSession(ctx); err != nil || id == fork {
			t.Fatalf("new session: %q, %v", id, err)
		}
		prompt("Six.")
		if got := texts(); got != "Six." {
			t.Errorf("in the new session: %q", got)
		}
		if err := p.SwitchSession(ctx, first.SessionFile); err != nil {
			t.Fatal(err)
		}
		prompt("Seven.")
		if got := texts(); got != "One. Yes. Three. Yes. Four. Yes. Seven." {
			t.Errorf("back in the first session: %q", got)
		}
	})
}

func TestFailuresOfTheProvider(t *testing.T) {
	each(t, func(t *testing.T, v Version) {
		p, mock := start(t, v)
		ctx := t.Context()
		mock.Enqueue(mockllm.Fail(400, "invalid_request_error", "no"), mockllm.Fail(529, "overloaded_error", "Overloaded"), mockllm.Say("Here."))
		if _, err := p.Prompt(ctx, Prompt{Text: "One."}); err == nil || !strings.Contains(err.Error(), "invalid_request_error") {
			t.Errorf("a refused prompt ends with %v", err)
		}
		if answer, err := p.Prompt(ctx, Prompt{Text: "Two."}); err != nil || answer.Text() != "Here." {
			t.Errorf("a provider that was busy: %q, %v", answer.Text(), err)
		}
		arrived := make(chan struct{})
		mock.Enqueue(mockllm.Step{Hang: true, Until: func(context.Context) { close(arrived) }}, mockllm.Say("Again."))
		turn, err := p.PromptAsync(ctx, Prompt{Text: "Three."})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-arrived:
		case <-time.After(time.Minute):
			t.Fatal("the prompt does not reach the provider")
		}
		if err := p.Abort(ctx); err != nil {
			t.Fatal(err)
		}
		if last, err := turn.Wait(ctx); err != nil || last.StopReason != "aborted" {
			t.Errorf("an aborted turn ends with %+v, %v", last, err)
		}
		if answer, err := p.Prompt(ctx, Prompt{Text: "Four."}); err != nil || answer.Text() != "Again." {
			t.Errorf("after an abort: %q, %v", answer.Text(), err)
		}
	})
}

func TestPrintAndJSON(t *testing.T) {
	each(t, func(t *testing.T, v Version) {
		o, mock := options(t, v)
		mock.Enqueue(mockllm.Say("Hello."), mockllm.Say("Hello."))
		for _, mode := range [][]string{{"--print"}, {"--mode", "json"}} {
			out, err := Run(t.Context(), o, append(mode, "Hello?")...)
			if err != nil {
				t.Fatal(err)
			}
			if out.Code != 0 || !strings.Contains(out.Stdout, "Hello.") || out.Stderr != "" {
				t.Errorf("%v: %+v", mode, out)
			}
		}
	})
}

func TestPiIsMissing(t *testing.T) {
	_, err := Find(t.Context(), t.TempDir(), V087)
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "npm ci") {
		t.Errorf("got %v", err)
	}
	_, err = Start(t.Context(), Options{Repo: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, ErrNotInstalled) {
		t.Errorf("got %v", err)
	}
}
