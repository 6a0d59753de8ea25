package rpc

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// An absentProvider refuses calls until a test stores a host in it, like a provider whose disk is full. `held` counts
// the calls that have taken the host and not yet released it.
type absentProvider struct {
	Provider
	host atomic.Pointer[scriptedHost]
	held atomic.Int32
}

func (p *absentProvider) Current(context.Context) (Host, func(), error) {
	h := p.host.Load()
	if h == nil {
		return nil, nil, refuse(schema.CodeDisabled, "the disk is full")
	}
	p.held.Add(1)
	return h, func() { p.held.Add(-1) }, nil
}

func TestCallsGoToTheCurrentHostOfTheProvider(t *testing.T) {
	p := &absentProvider{Provider: Always(&scriptedHost{})}
	log := &logBuffer{}
	r := &rig{t: t, log: log, server: NewServer(p, Options{Log: log.logger()})}
	c := r.open()
	mustCall(t, c, schema.MethodStatus, schema.StatusParams{}, nil) // these methods work without a host

	params := schema.TextCompleteParams{Session: "s", Text: "hello"}
	if e := wantCode(t, c.Call(patience(t), schema.MethodTextComplete, params, nil), schema.CodeDisabled); e.Message != "the disk is full" {
		t.Errorf("the refusal says %q", e.Message)
	}

	p.host.Store(&scriptedHost{textComplete: func(_ context.Context, got schema.TextCompleteParams) (r schema.TextCompleteResult, err error) {
		if held := p.held.Load(); held != 1 {
			t.Errorf("%d calls hold the host during the call", held)
		}
		if got.Text == "panic" {
			panic("scripted")
		}
		return schema.TextCompleteResult{Text: got.Text + "!"}, nil
	}})
	var result schema.TextCompleteResult
	mustCall(t, c, schema.MethodTextComplete, params, &result)
	if result.Text != "hello!" {
		t.Errorf("the host answered %q", result.Text)
	}
	params.Text = "panic"
	if err := c.Call(patience(t), schema.MethodTextComplete, params, nil); err == nil {
		t.Error("a panic was answered without an error")
	}
	if held := p.held.Load(); held != 0 {
		t.Errorf("%d calls still hold the host after their answers", held)
	}
}
