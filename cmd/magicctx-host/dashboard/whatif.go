package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/compare"
	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
)

const replayTimeout = 10 * time.Minute

// Replays run in the background, one at a time.
type replays struct {
	work *background.Work
	dir  string // the data directory

	mu     sync.Mutex
	cancel context.CancelFunc
	state  replayState
	report []byte
}

// A replayState describes the newest replay.
type replayState struct {
	// Harness and Session are empty before the first replay.
	Harness   string    `json:"harness"`
	Session   string    `json:"session"`
	Action    string    `json:"action"` // "what-if" or "share"
	IsRunning bool      `json:"isRunning"`
	Progress  string    `json:"progress,omitzero"`
	Error     string    `json:"error,omitzero"`
	Sentence  string    `json:"sentence,omitzero"`
	Rows      []tellRow `json:"rows,omitempty"`
}

type tellRow struct {
	Name     string `json:"name"`
	Recorded string `json:"recorded"`
	Tried    string `json:"tried"`
}

type replayRequest struct {
	Action  string        `json:"action"` // "what-if", "share" or "cancel"
	Harness string        `json:"harness"`
	Session string        `json:"session"`
	Trial   compare.Trial `json:"trial"` // of a what-if
}

var errBusy = errors.New("another replay is running; wait for it or cancel it")

// change starts or cancels a replay.
func (p *replays) change(r *http.Request) (replayState, error) {
	var asked replayRequest
	if err := json.UnmarshalRead(r.Body, &asked); err != nil {
		return replayState{}, fmt.Errorf("read the request: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var run func(ctx context.Context) (replayState, []byte, error)
	switch asked.Action {
	case "cancel":
		if p.cancel != nil {
			p.cancel()
		}
		return p.state, nil
	case "what-if":
		run = func(ctx context.Context) (replayState, []byte, error) {
			recorded, tried, err := compare.WhatIf(ctx, p.dir, asked.Session, asked.Trial, p.progress)
			return replayState{Sentence: sentence(recorded, tried), Rows: rowsOf(recorded, tried)}, nil, err
		}
	case "share":
		run = func(ctx context.Context) (replayState, []byte, error) {
			report, err := compare.Report(ctx, p.dir, asked.Session, p.progress)
			return replayState{}, report, err
		}
	default:
		return replayState{}, fmt.Errorf("there is no action %q: what-if, share or cancel", format.Clean(asked.Action))
	}
	if p.state.IsRunning {
		return replayState{}, errBusy
	}
	ctx, cancel := context.WithTimeout(p.work.Lifetime(), replayTimeout)
	p.state, p.cancel, p.report = replayState{Harness: asked.Harness, Session: asked.Session, Action: asked.Action, IsRunning: true, Progress: "looking for a trace"}, cancel, nil
	p.work.Go(func() {
		result, report, err := run(ctx)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			err = errors.New("the replay was cancelled")
		case ctx.Err() != nil:
			err = fmt.Errorf("the replay has taken more than %s; magicctx-host replay has no such limit", format.Span(replayTimeout))
		}
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		result.Harness, result.Session, result.Action = asked.Harness, asked.Session, asked.Action
		if err != nil {
			result, report = replayState{Harness: asked.Harness, Session: asked.Session, Action: asked.Action, Error: format.Clean(string(withoutDir([]byte(err.Error()), p.dir)))}, nil
		}
		p.state, p.report, p.cancel = result, report, nil
	})
	return p.state, nil
}

func (p *replays) progress(done, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Progress = fmt.Sprintf("step %d of %d", done, steps)
}

func (p *replays) get(*http.Request) (replayState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, nil
}

func (p *replays) takeReport(*http.Request) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.report == nil {
		return "", errors.New("there is no report; ask for one on the page of a session")
	}
	report := string(p.report)
	p.report = nil
	return report, nil
}

func sentence(recorded, tried compare.Outcome) string {
	text := "With these settings, the session would have cost " + format.Money(tried.Magicctx)
	switch less := recorded.Magicctx - tried.Magicctx; {
	case format.Money(recorded.Magicctx) == format.Money(tried.Magicctx):
		text += ", the same as with the recorded ones."
	case less > 0:
		text += fmt.Sprintf(", %s (%s) less than with the recorded ones.", format.Money(less), format.Percent(less/recorded.Magicctx))
	case recorded.Magicctx > 0:
		text += fmt.Sprintf(", %s (%s) more than with the recorded ones.", format.Money(-less), format.Percent(-less/recorded.Magicctx))
	default:
		text += "."
	}
	if n := max(recorded.MissedRuns, tried.MissedRuns); n > 0 {
		text += fmt.Sprintf(" The trace lacks %s of the historian, so summaries are missing in a replay, and its bill is an estimate.", format.Count(n, "answer"))
	}
	return text
}

func rowsOf(recorded, tried compare.Outcome) []tellRow {
	again := func(o compare.Outcome) string {
		if o.Reread == 0 {
			return "none"
		}
		return fmt.Sprintf("%s (%s)", format.Tokens(o.Reread), format.FinePercent(float64(o.Reread)/float64(max(o.Removed, 1))))
	}
	var rows []tellRow
	for _, row := range []struct {
		name string
		of   func(compare.Outcome) string
	}{
		{"bill with magicctx", func(o compare.Outcome) string { return format.Money(o.Magicctx) }},
		{"of it for the historian", func(o compare.Outcome) string { return format.Money(o.Historian) }},
		{"bill of the harness alone", func(o compare.Outcome) string { return format.Money(o.Alone) }},
		{"busts", func(o compare.Outcome) string { return format.Grouped(o.Busts) }},
		{"largest prompt, in tokens", func(o compare.Outcome) string { return format.Tokens(o.Largest) }},
		{"removed tokens", func(o compare.Outcome) string { return format.Tokens(o.Removed) }},
		{"of them soon read again", again},
	} {
		rows = append(rows, tellRow{row.name, row.of(recorded), row.of(tried)})
	}
	return rows
}
