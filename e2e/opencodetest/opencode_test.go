package opencodetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

const repo = "../.."

func start(t *testing.T) (*OpenCode, *mockllm.Server, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the real OpenCode")
	}
	if _, err := Binary(repo); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)

	project := t.TempDir()
	if err := NewProject(ctx, project, map[string]string{"notes.txt": "the answer is 41\n"}); err != nil {
		t.Fatal(err)
	}
	home, err := NewHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mock := mockllm.Start()
	t.Cleanup(mock.Close)
	oc, err := Start(ctx, Options{Repo: repo, Home: home, Project: project, MockURL: mock.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		oc.Close()
		if err := oc.Stop(); err != nil {
			t.Error(err)
		}
	})
	return oc, mock, project
}

func TestTurnWithTools(t *testing.T) {
	oc, mock, project := start(t)
	ctx := t.Context()
	file := filepath.Join(project, "notes.txt")

	events, err := oc.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	idle := make(chan struct{}, 2)
	go func() {
		for e := range events {
			if e.Type == "session.idle" {
				idle <- struct{}{}
			}
		}
	}()

	for _, model := range []string{ClaudeModel, GPTModel} {
		t.Run(model, func(t *testing.T) {
			mock.Reset()
			mock.Enqueue(
				mockllm.Step{Blocks: []mockllm.Block{
					mockllm.Text("Let me look."),
					mockllm.Tool("call1", "read", map[string]any{"filePath": file}),
				}},
				mockllm.Call("call2", "bash", map[string]any{"command": "wc -c < notes.txt", "description": "size"}),
				mockllm.Say("It says 41."),
			)
			session, err := oc.CreateSession(ctx, NewSession{Title: "turn"})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := oc.Prompt(ctx, session.ID, Prompt{Text: "What is the answer?", Model: model})
			if err != nil {
				t.Fatal(err)
			}
			if got := answer.Text(); got != "It says 41." {
				t.Errorf("answered %q", got)
			}
			<-idle

			requests := mock.Requests()
			if len(requests) != 3 {
				t.Fatalf("%d requests, want one for each step", len(requests))
			}
			results := map[string]string{}
			for _, m := range requests[2].Messages {
				for _, c := range m.Content {
					if c.Type == "tool_result" {
						results[c.ID] = c.Text
					}
				}
			}
			if !strings.Contains(results["call1"], "the answer is 41") || strings.TrimSpace(results["call2"]) != "17" {
				t.Errorf("tool results: %q", results)
			}
			if read := requests[2].Simulated.Read; read == 0 {
				t.Error("the third request read nothing from the simulated cache")
			}
			messages, err := oc.Messages(ctx, session.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(messages) != 4 { // the user's message and one for each step
				t.Errorf("%d messages are stored", len(messages))
			}
		})
	}
}

func TestBinaryIsMissing(t *testing.T) {
	_, err := Binary(t.TempDir())
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "npm ci") {
		t.Errorf("got %v", err)
	}
}
