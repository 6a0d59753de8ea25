package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/e2e/stage"
)

// A session describes one session to record.
type session struct {
	name   string
	limits opencodetest.Limits
	// play plays the session. If it is nil, the turns of a script are played.
	play func(context.Context, *recording) error

	// steps is the number of steps in each turn of the script.
	steps []int
	// dropEvery is the number of steps after which the model asks for drops again.
	dropEvery int
}

var (
	short = session{name: "short", limits: opencodetest.DefaultLimits, play: playScript, steps: []int{4, 3, 2}}

	// long works in a small window. Its growth crosses the execute threshold (65 %) about once in every
	// turn, but not while the turn runs.
	long = session{
		name: "long", limits: opencodetest.Limits{Context: 64_000, Output: 8_192}, play: playScript,
		steps: slices.Repeat([]int{26}, 12), dropEvery: 13,
	}
)

// A recording turns one session into a trace file.
type recording struct {
	session
	product stage.Product
	root    string

	// These fields are valid while the session is played.
	files map[string]string
	oc    *opencodetest.OpenCode
	mock  *mockllm.Server

	// The method record counts these.
	messages, requests int
}

func (r *recording) project() string  { return filepath.Join(r.root, "project") }
func (r *recording) traceDir() string { return filepath.Join(r.root, "trace") }

// record plays the session and returns its trace.
func (r *recording) record(ctx context.Context) (trace []byte, err error) {
	if r.files, err = script.RepositoryFiles(ctx, r.product.Repo); err != nil {
		return nil, err
	}
	if err := opencodetest.NewProject(ctx, r.project(), r.files); err != nil {
		return nil, err
	}
	user, err := stage.NewUser(r.root, r.product)
	if err != nil {
		return nil, err
	}
	r.mock = mockllm.Start()
	defer r.mock.Close()
	options := user.WithPlugin(r.product.Host, r.project(), r.mock.URL())
	options.Limits = r.limits
	options.Config["snapshot"] = true // snapshots are on, as users have them
	options.Env = append(options.Env, "MAGICCTX_TRACE="+r.traceDir())

	if r.oc, err = opencodetest.Start(ctx, options); err != nil {
		return nil, err
	}
	played := r.play(ctx, r)
	r.oc.Close()
	if err := errors.Join(played, r.oc.Stop(), user.StopHost(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	r.requests = len(r.mock.Requests())
	return r.readTrace()
}

// playScript plays a session in which nothing goes wrong.
func playScript(ctx context.Context, r *recording) error {
	turns := script.Write(script.Options{
		Project: r.project(), Files: r.files, Steps: r.steps, DropEvery: r.dropEvery, Seed: 1,
	})
	s, err := r.oc.CreateSession(ctx, opencodetest.NewSession{Title: r.name})
	if err != nil {
		return err
	}
	for i, turn := range turns {
		r.mock.Enqueue(turn.Steps...)
		if _, err := r.oc.Prompt(ctx, s.ID, opencodetest.Prompt{Text: turn.Prompt}); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	messages, err := r.oc.Messages(ctx, s.ID)
	if err != nil {
		return err
	}
	r.messages = len(messages)
	// A failed call is a mistake in the script, and a trace must not hide it.
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == "tool" && (p.State.Status != "completed" || p.Tool == "invalid") {
				return fmt.Errorf("call %s of %s: %s %s%s", p.CallID, p.Tool, p.State.Status, p.State.Error, p.State.Output)
			}
		}
	}
	return nil
}

// readTrace returns the trace. There is exactly one, because one process had one connection to the
// host.
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
