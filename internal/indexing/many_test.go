package indexing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store/index"
)

// The method `all` returns the indexed chunks as texts. It leaves out their row numbers, because these depend on the
// order of writes.
func (w *world) all() (all []string) {
	w.t.Helper()
	must(w.t, w.x.Index.View(w.t.Context(), func(v *index.View) error {
		return v.Find(`"zebra"`, index.Scope{}, 10_000, func(h index.Hit) {
			all = append(all, fmt.Sprint(h.Session, h.Message, h.First, h.Last, h.At, h.Kind, h.Role, h.Text, h.Context))
		})
	}))
	slices.Sort(all)
	return all
}

const sessionsOfEach, messagesOfEach = 50, 3

func fill(t *testing.T, home string) {
	t.Helper()
	oc := rawhistorytest.NewOpenCode(t, home)
	oc.UpgradeToOpenCode2()
	for s := range sessionsOfEach {
		text := func(n int) string { return fmt.Sprintf("zebra %d of session %d", n, s) }
		oc.Add(fmt.Sprint("ses_", s), []json.Value{
			said(fmt.Sprintf("m%d_1", s), "user", 1, text(1)), said(fmt.Sprintf("m%d_2", s), "assistant", 2, text(2)), said(fmt.Sprintf("m%d_3", s), "user", 3, text(3)),
		})
		two := fmt.Sprint("two_", s)
		oc.AddRow2(two, two+"_1", "user", 1, fmt.Sprintf(`{"text":%q,"time":{"created":1}}`, text(1)))
		oc.AddRow2(two, two+"_2", "assistant", 2, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"time":{"created":2}}`, text(2)))
		oc.AddRow2(two, two+"_3", "user", 3, fmt.Sprintf(`{"text":%q,"time":{"created":3}}`, text(3)))
		pi := rawhistorytest.NewPi(t, home, fmt.Sprint("pi_", s))
		pi.Message(json.Value(fmt.Sprintf(`{"role":"user","content":%q,"timestamp":1}`, text(1))))
		pi.Message(json.Value(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}],"provider":"p","model":"m","stopReason":"stop","timestamp":2}`, text(2))))
		pi.Message(json.Value(fmt.Sprintf(`{"role":"user","content":%q,"timestamp":3}`, text(3))))
		claude, codex := "", fmt.Sprintf(`{"timestamp":"2026-11-20T11:18:00.000Z","type":"session_meta","payload":{"id":"c0de%d","timestamp":"2026-11-20T11:18:00.000Z","cwd":"/p"}}`+"\n", s)
		parent := "null"
		for n, role := range []string{"user", "assistant", "user"} {
			said, kind := fmt.Sprintf(`[{"type":"text","text":%q}]`, text(n+1)), [...]string{"input_text", "output_text", "input_text"}[n]
			claude += fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/p","sessionId":"c1a%d","type":%q,"message":{"id":"msg_%d","role":%q,"content":%s},"uuid":"u%d","timestamp":"2026-11-20T11:18:0%d.000Z"}`+"\n", parent, s, role, n, role, said, n, n)
			codex += fmt.Sprintf(`{"timestamp":"2026-11-20T11:18:0%d.000Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}}`+"\n", n+1, role, kind, text(n+1))
			parent = fmt.Sprintf(`"u%d"`, n)
		}
		rawhistorytest.WriteLog(t, home, fmt.Sprintf(".claude/projects/-p/c1a%d.jsonl", s), claude)
		rawhistorytest.WriteLog(t, home, fmt.Sprintf(".codex/sessions/2026/11/20/rollout-1-c0de%d.jsonl", s), codex)
	}
}

// A run of the indexer may be interrupted at any point. After the next complete run, the index must contain the same
// chunks as without the interruptions.
func TestInterruptedIndexingChangesNothingInTheEnd(t *testing.T) {
	whole := newWorld(t)
	fill(t, whole.home)
	const harnesses = 5
	want := Progress{Sessions: harnesses * sessionsOfEach, Of: harnesses * sessionsOfEach, Messages: harnesses * sessionsOfEach * messagesOfEach}
	if p := whole.run(); p != want || len(whole.problems) > 0 {
		t.Fatalf("%+v, want %+v, %q", p, want, whole.problems)
	}
	all := whole.all()
	if len(all) != want.Messages {
		t.Errorf("%d of %d messages are in the index", len(all), want.Messages)
	}
	w := newWorld(t)
	w.x.Reader = whole.x.Reader
	random := rand.New(rand.NewPCG(1, 1))
	cut, done := 0, 0 // done is the number of sessions that were indexed before the last interruption
	for {
		begun := 0
		ctx, cancel := context.WithCancel(t.Context())
		w.x.Known = func(context.Context, *rawhistory.Session) {
			if begun++; begun == done+1 {
				time.AfterFunc(time.Duration(random.IntN(3_000+300*cut))*time.Microsecond, cancel)
			}
		}
		p, err := w.x.Run(ctx, func(Progress) {}, func(string, error) {})
		cancel()
		if err == nil {
			if p.Sessions != want.Sessions {
				t.Errorf("%+v", p)
			}
			break
		}
		cut, done = cut+1, p.Sessions
	}
	if got := w.all(); !slices.Equal(got, all) {
		t.Errorf("after %d cuts: %d chunks, want %d", cut, len(got), len(all))
	}
	if cut < 5 {
		t.Errorf("only %d runs were cut", cut)
	}
	t.Log(cut, "cuts")
}
