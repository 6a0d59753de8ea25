package rpc

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
)

func TestEventsKeepTheirOrder(t *testing.T) {
	const n = 500
	var got []string
	done := make(chan struct{})
	r := newRig(t, &scriptedHost{
		event: func(_ context.Context, p schema.EventParams) {
			got = append(got, string(p.Event)) // no mutex: the lane orders the appends, and -race checks that
			if len(got) == n {
				close(done)
			}
		},
	})
	c := r.open()
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint(i))
		if err := c.Notify(schema.MethodEvent, schema.EventParams{Session: "s", Directory: "/work", Event: raw(want[i])}); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "all events", done)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// A pass must see every event that the client sent before it.
func TestPassSeesTheEventsBeforeIt(t *testing.T) {
	var events int
	var atPass []int
	r := newRig(t, &scriptedHost{
		event: func(context.Context, schema.EventParams) { events++ },
		transform: func(context.Context, client.Client, schema.TransformParams) (m schema.WireMutation, err error) {
			atPass = append(atPass, events)
			return m, nil
		},
	})
	c := r.open()
	for range 20 {
		for range 3 {
			if err := c.Notify(schema.MethodEvent, schema.EventParams{Session: "s", Event: raw("{}")}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := transform(patience(t), c, "s", 0, "[]"); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range atPass {
		if n != 3*(i+1) {
			t.Fatalf("pass %d saw %d events, want %d", i, n, 3*(i+1))
		}
	}
}

func TestOneSessionIsNeverServedTwiceAtOnce(t *testing.T) {
	var inside, total int // these need no mutex, because the lane guards them
	r := newRig(t, &scriptedHost{
		textComplete: func(context.Context, schema.TextCompleteParams) (res schema.TextCompleteResult, err error) {
			inside++
			if inside != 1 {
				t.Errorf("%d calls of one session run at once", inside)
			}
			total++
			inside--
			return res, nil
		},
	})
	var wg sync.WaitGroup
	for range 3 { // several harness processes may have one session open
		c := r.open()
		for range 4 {
			wg.Go(func() {
				for range 25 {
					err := c.Call(patience(t), schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil)
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if total != 3*4*25 {
		t.Errorf("%d calls were served, want %d", total, 3*4*25)
	}
}

func TestSessionsRunSideBySide(t *testing.T) {
	const sessions = 4
	var inside sync.WaitGroup
	inside.Add(sessions)
	r := newRig(t, &scriptedHost{
		transform: func(context.Context, client.Client, schema.TransformParams) (m schema.WireMutation, err error) {
			inside.Done()
			inside.Wait() // this returns only when calls of all sessions have arrived
			return m, nil
		},
	})
	c := r.open()
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			if _, err := transform(patience(t), c, fmt.Sprint(i), 0, "[]"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestHarnessesDoNotShareLanes(t *testing.T) {
	var inside sync.WaitGroup
	inside.Add(len(schema.Harnesses))
	r := newRig(t, &scriptedHost{
		transform: func(context.Context, client.Client, schema.TransformParams) (m schema.WireMutation, err error) {
			inside.Done()
			inside.Wait()
			return m, nil
		},
	})
	var wg sync.WaitGroup
	for _, harness := range schema.Harnesses {
		c := r.connect(nil)
		p := hello()
		p.Harness = harness
		mustCall(t, c, schema.MethodInitialize, p, nil)
		wg.Go(func() {
			if _, err := transform(patience(t), c, "same", 0, "[]"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestStatusNeverWaitsForAPass(t *testing.T) {
	busy, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, &scriptedHost{
		transform: func(context.Context, client.Client, schema.TransformParams) (m schema.WireMutation, err error) {
			close(busy)
			<-release
			return m, nil
		},
	})
	c := r.open()
	passed := make(chan error, 1)
	go func() {
		_, err := transform(patience(t), c, "s", 0, "[]")
		passed <- err
	}()
	wait(t, "the pass to begin", busy)

	var st schema.StatusResult
	mustCall(t, c, schema.MethodStatus, schema.StatusParams{}, &st)
	mustCall(t, c, schema.MethodSessionStatus, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: "s"}, nil)
	mustCall(t, c, schema.MethodSessionSubscribe, schema.SubscribeParams{}, nil)
	second := hello()
	second.Directory = "/elsewhere"
	mustCall(t, c, schema.MethodInitialize, second, nil)

	want := []schema.ClientStatus{{Client: "opencode-shim", Harness: "opencode", PID: 42, Directories: []string{"/work"}}}
	if diff := cmp.Diff(want, st.Clients); diff != "" {
		t.Errorf("clients in status (-want +got):\n%s", diff)
	}
	close(release)
	if err := <-passed; err != nil {
		t.Error(err)
	}
}

func TestFullLaneRefusesAndSaysSo(t *testing.T) {
	busy, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var events atomic.Int64
	r := newRig(t, &scriptedHost{
		event: func(context.Context, schema.EventParams) {
			once.Do(func() { close(busy) })
			<-release
			events.Add(1)
		},
	})
	c := r.open()
	event := schema.EventParams{Session: "s", Event: raw("{}")}
	if err := c.Notify(schema.MethodEvent, event); err != nil {
		t.Fatal(err)
	}
	wait(t, "the first event to begin", busy)
	for range maxLaneCalls + 5 {
		if err := c.Notify(schema.MethodEvent, event); err != nil {
			t.Fatal(err)
		}
	}
	err := c.Call(patience(t), schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil)
	wantCode(t, err, schema.CodeBusy)
	// Although this lane is full, calls of other sessions must succeed, and so must a call for the status.
	mustCall(t, c, schema.MethodTextComplete, schema.TextCompleteParams{Session: "other"}, nil)
	mustCall(t, c, schema.MethodStatus, schema.StatusParams{}, nil)

	close(release)
	// This call is refused until the lane has room again.
	for {
		err := c.Call(patience(t), schema.MethodTextComplete, schema.TextCompleteParams{Session: "s"}, nil)
		if err == nil {
			break
		}
		wantCode(t, err, schema.CodeBusy)
	}
	if got := events.Load(); got != maxLaneCalls+1 {
		t.Errorf("%d events were served, want the %d that fit", got, maxLaneCalls+1)
	}
}

// A client without a harness, for example a dashboard, may act for the user, but it must name the harness of the
// session.
func TestWatcherActsForTheUser(t *testing.T) {
	r := newRig(t, &scriptedHost{})
	c := r.connect(nil)
	watcher := hello()
	watcher.Harness, watcher.Directory = "", ""
	mustCall(t, c, schema.MethodInitialize, watcher, nil)
	mustCall(t, c, schema.MethodCommandExecute, schema.CommandExecuteParams{Harness: schema.HarnessPi, Session: "s", Command: "ctx-menu"}, nil)
	mustCall(t, c, schema.MethodSessionKeep, schema.KeepParams{Harness: schema.HarnessPi, Session: "s", Tags: []int{1}}, nil)
	for method, params := range map[string]any{
		schema.MethodCommandExecute: schema.CommandExecuteParams{Session: "s", Command: "ctx-menu"},
		schema.MethodToolExecute:    schema.ToolExecuteParams{Session: "s", Tool: "ctx_search", Args: raw("{}")},
		schema.MethodSystem:         schema.SystemParams{Session: "s"},
	} {
		if err := c.Call(patience(t), method, params, nil); err == nil {
			t.Errorf("%s is answered", method)
		}
	}
}
