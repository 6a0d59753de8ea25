package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/internal/mockllm"
	"github.com/magicctx/magicctx-host/internal/opencodetest"
)

// A session is what is recorded.
type session struct {
	name string
	// steps of each turn.
	steps []int
	// dropEvery is how often the model asks for drops, in steps.
	dropEvery int
	limits    opencodetest.Limits
}

var (
	short = session{name: "short", steps: []int{4, 3, 2}, limits: opencodetest.DefaultLimits}

	// long works in a window so small that its growth crosses the execute
	// threshold (65 %) about once in every turn, and not while the turn runs.
	long = session{
		name: "long", steps: slices.Repeat([]int{26}, 12), dropEvery: 13,
		limits: opencodetest.Limits{Context: 64_000, Output: 8_192},
	}
)

// A recording is one session on its way into a file.
type recording struct {
	session
	product stage.Product
	root    string

	// Counted by record.
	messages, requests int
}

func (r *recording) project() string  { return filepath.Join(r.root, "project") }
func (r *recording) traceDir() string { return filepath.Join(r.root, "trace") }

// record plays the session and returns its trace.
func (r *recording) record(ctx context.Context) (trace []byte, err error) {
	files, err := script.RepositoryFiles(r.product.Repo)
	if err != nil {
		return nil, err
	}
	if err := opencodetest.NewProject(ctx, r.project(), files); err != nil {
		return nil, err
	}
	user, err := stage.NewUser(r.root, r.product)
	if err != nil {
		return nil, err
	}
	mock := mockllm.Start()
	defer mock.Close()
	options := user.WithPlugin(r.product.Host, r.project(), mock.URL())
	options.Limits = r.limits
	options.Env = append(options.Env, "MAGICCTX_TRACE="+r.traceDir())

	oc, err := opencodetest.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	turns := script.Write(script.Options{
		Project: r.project(), Files: files, Steps: r.steps, DropEvery: r.dropEvery, Seed: 1,
	})
	played := r.play(ctx, oc, mock, turns)
	oc.Close()
	if err := errors.Join(played, oc.Stop(), user.StopHost(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	r.requests = len(mock.Requests())
	return r.readTrace()
}

func (r *recording) play(ctx context.Context, oc *opencodetest.OpenCode, mock *mockllm.Server, turns []script.Turn) error {
	s, err := oc.CreateSession(ctx, opencodetest.NewSession{Title: r.name})
	if err != nil {
		return err
	}
	for i, turn := range turns {
		mock.Enqueue(turn.Steps...)
		if _, err := oc.Prompt(ctx, s.ID, opencodetest.Prompt{Text: turn.Prompt}); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	messages, err := oc.Messages(ctx, s.ID)
	if err != nil {
		return err
	}
	r.messages = len(messages)
	// A call that failed is a mistake of the script; a trace must not hide it.
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == "tool" && (p.State.Status != "completed" || p.Tool == "invalid") {
				return fmt.Errorf("call %s of %s: %s %s%s", p.CallID, p.Tool, p.State.Status, p.State.Error, p.State.Output)
			}
		}
	}
	return nil
}

// readTrace returns the one trace that was written: one process had one
// connection to the host.
func (r *recording) readTrace() ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(r.traceDir(), "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(paths) != 1 {
		return nil, fmt.Errorf("%d traces were written, want 1: %v", len(paths), paths)
	}
	return os.ReadFile(paths[0])
}
