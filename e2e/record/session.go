package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/script"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/schema"
)

type session struct {
	name    string
	harness schema.Harness
	limits  opencodetest.Limits
	// play plays the session. If it is nil, the recorder plays the turns of a script.
	play func(context.Context, *recording) error

	steps []int
	// dropEvery is the number of steps after which the model asks for drops.
	dropEvery  int
	summarises bool
}

var (
	short = session{name: "short", harness: schema.HarnessOpenCode, limits: opencodetest.DefaultLimits, play: playScript, steps: []int{4, 3, 2}}

	// In the session `long`, the prompt exceeds the execute threshold (65 %) about once per turn, but never mid-turn.
	long = session{
		name: "long", harness: schema.HarnessOpenCode, limits: opencodetest.Limits{Context: 64_000, Output: 8_192}, play: playScript,
		steps: slices.Repeat([]int{26}, 12), dropEvery: 13,
	}

	// In the session `history`, the historian answers each question only some passes later.
	history = session{
		name: "history", harness: schema.HarnessOpenCode, limits: opencodetest.Limits{Context: 36_000, Output: 4_000}, play: playHistory,
		steps: slices.Repeat([]int{10}, 9), summarises: true,
	}

	piShort, piLong = short.with(schema.HarnessPi), long.with(schema.HarnessPi)
)

func (s session) with(h schema.Harness) session {
	s.name, s.harness = string(h)+"-"+s.name, h
	return s
}

type recording struct {
	session
	product stage.Product
	root    string

	files map[string]string
	agent agent.Agent
	mock  *mockllm.Server

	messages, requests int
}

func (r *recording) project() string  { return filepath.Join(r.root, "project") }
func (r *recording) traceDir() string { return filepath.Join(r.root, "trace") }

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
	settings := stage.WithoutHistorian
	if r.summarises {
		settings = withoutDocs
	}
	if err := user.Configure(settings); err != nil {
		return nil, err
	}
	r.mock = mockllm.Start()
	defer r.mock.Close()
	if r.agent, err = r.start(ctx, user); err != nil {
		return nil, err
	}
	played := r.play(ctx, r)
	if err := errors.Join(played, r.agent.End(), user.StopHost(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	r.requests = len(r.mock.Requests())
	return r.readTrace()
}

// The documents of the project are not part of a trace, so the head must not contain them.
const withoutDocs = `{"project_docs": {"enabled": false}}`

func (r *recording) start(ctx context.Context, user *stage.User) (agent.Agent, error) {
	record := "MAGICCTX_TRACE=" + r.traceDir()
	if r.harness == schema.HarnessPi {
		options := user.WithPi(r.product.Host, r.project(), r.mock.URL())
		options.Limits = r.limits
		options.Env = append(options.Env, record)
		// This session is small. With its default settings, Pi would find nothing to summarise.
		options.Settings = map[string]any{"compaction": map[string]any{"enabled": true, "keepRecentTokens": 2_000}}
		return agent.StartPi(ctx, options)
	}
	options := user.WithPlugin(r.product.Host, r.project(), r.mock.URL())
	options.Limits = r.limits
	options.Config["snapshot"] = true // snapshots are on, as they are for users
	options.Env = append(options.Env, record)
	oc, err := opencodetest.Start(ctx, options)
	return &agent.OpenCode{OpenCode: oc, Title: r.name}, err
}

func (s *session) tools() script.Tools {
	if s.harness == schema.HarnessPi {
		return script.Pi
	}
	return script.OpenCode
}

func (r *recording) countMessages(ctx context.Context, session string) (int, error) {
	if oc, ok := r.agent.(*agent.OpenCode); ok {
		messages, err := oc.Messages(ctx, session)
		return len(messages), err
	}
	messages, err := r.agent.(*agent.Pi).Messages(ctx)
	return len(messages), err
}

func playScript(ctx context.Context, r *recording) error {
	turns := script.Write(script.Options{
		Project: r.project(), Files: r.files, Steps: r.steps, DropEvery: r.dropEvery, Seed: 1, Tools: r.tools(),
	})
	id, err := r.agent.Begin(ctx)
	if err != nil {
		return err
	}
	for i, turn := range turns {
		r.mock.Enqueue(turn.Steps...)
		if err := r.agent.Send(ctx, id, opencodetest.Prompt{Text: turn.Prompt}); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	if r.messages, err = r.countMessages(ctx, id); err != nil {
		return err
	}
	// A failed call is a mistake in the script. The trace must not hide it.
	failed, err := r.agent.FailedCalls(ctx, id)
	if err != nil || len(failed) > 0 {
		return errors.Join(err, fmt.Errorf("failed calls: %q", failed))
	}
	return nil
}

// The process has connected to the host once, so there is one trace.
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
