package historian_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// The table is a reference vector.
func TestHalveBudget(t *testing.T) {
	for _, test := range [][2]int{{50_000, 25_000}, {100, 50}, {41, 20}, {40, 20}, {21, 20}, {20, 0}, {19, 0}} {
		half, ok := historian.HalveBudget(test[0])
		if ok != (test[1] > 0) || ok && half != test[1] {
			t.Errorf("%d: %d, %t", test[0], half, ok)
		}
	}
}

type errandLog struct {
	read  []string
	saved []chronicle.Range
}

// The fake chunks have one message for every ten tokens of the budget.
func (l *errandLog) ports(a ask.Asker) historian.ErrandPorts {
	return historian.ErrandPorts{
		Ports: historian.Ports{Asker: a},
		Chunk: func(_ context.Context, r chronicle.Range, budget int) (historian.Chunk, []historian.Message, error) {
			c := historian.Chunk{Range: chronicle.Range{Start: r.Start, End: min(r.End, r.Start+budget/10-1)}, Text: "text"}
			for n := c.Start; n <= c.End; n++ {
				c.Lines = append(c.Lines, chronicle.Place{Ordinal: n, Key: fmt.Sprint("m", n)})
			}
			l.read = append(l.read, fmt.Sprintf("%d-%d", c.Start, c.End))
			return c, nil, nil
		},
		Save: func(_ context.Context, done historian.Result) error {
			for _, c := range done.Compartments {
				l.saved = append(l.saved, c.Range())
			}
			return nil
		},
	}
}

func onlyShort(longest int) ask.Asker {
	return historiantest.Answers(func(r chronicle.Range) string {
		if r.End-r.Start+1 > longest {
			return "too much for me"
		}
		return historiantest.Output(historiantest.Compartment(r, "x"))
	})
}

func TestErrandHalvesItsChunks(t *testing.T) {
	var l errandLog
	got, err := historian.RunErrand(t.Context(), historian.Errand{Range: chronicle.Range{Start: 1, End: 10}, Budget: 80}, l.ports(onlyShort(4)))
	if err != nil || got.Problem != "" || got.Next != 11 {
		t.Errorf("%+v, %v", got, err)
	}
	if d := cmp.Diff([]string{"1-8", "1-4", "5-10", "5-8", "9-10"}, l.read); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]chronicle.Range{{Start: 1, End: 4}, {Start: 5, End: 8}, {Start: 9, End: 10}}, l.saved); d != "" {
		t.Error(d)
	}
}

func TestErrandStopsWhereNoModelHelps(t *testing.T) {
	for _, test := range []struct {
		name  string
		asker ask.Asker
		read  []string
	}{
		{"answers stay invalid", onlyShort(0), []string{"1-8", "1-4", "1-2"}},
		{"the key is wrong", historiantest.AskerFunc(func(context.Context, ask.Request) (ask.Answer, error) {
			return ask.Answer{}, errors.New("401 unauthorized")
		}), []string{"1-8"}},
	} {
		var l errandLog
		got, err := historian.RunErrand(t.Context(), historian.Errand{Range: chronicle.Range{Start: 1, End: 10}, Budget: 80}, l.ports(test.asker))
		if err != nil || got.Problem == "" || got.Next != 1 || len(l.saved) != 0 || len(got.Attempts) == 0 {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
		if d := cmp.Diff(test.read, l.read); d != "" {
			t.Errorf("%s: %s", test.name, d)
		}
	}
}

// If a run fails, an errand tries again with a smaller budget, and so with a shorter chunk. Here, the smaller budget
// does not make the chunk shorter. So the errand must stop, because the same chunk would only fail again.
func TestErrandAsksOnlyForShorterChunks(t *testing.T) {
	var l errandLog
	p := l.ports(onlyShort(4))
	read := p.Chunk
	p.Chunk = func(ctx context.Context, r chronicle.Range, _ int) (historian.Chunk, []historian.Message, error) {
		return read(ctx, r, 80)
	}
	got, err := historian.RunErrand(t.Context(), historian.Errand{Range: chronicle.Range{Start: 1, End: 10}, Budget: 80}, p)
	if err != nil || got.Problem != "no shorter chunk can be read from 1 on" || len(l.read) != 2 {
		t.Errorf("%+v, %v after reading %v", got, err, l.read)
	}
}

// Each run of an errand sees the compartments that the errand's earlier runs have written. It also keeps its own last
// compartment, which an ordinary run would leave to the next run.
func TestErrandGivesEachChunkTheEarlierCompartments(t *testing.T) {
	var prompts []string
	asker := historiantest.AskerFunc(func(ctx context.Context, r ask.Request) (ask.Answer, error) {
		prompts = append(prompts, r.Prompt)
		m := historiantest.RangeOf(r.Prompt)
		half := chronicle.Range{Start: m.Start, End: m.Start}
		rest := chronicle.Range{Start: m.Start + 1, End: m.End}
		return ask.Answer{Text: historiantest.Output(historiantest.Compartment(half, "x"), historiantest.Compartment(rest, "y"))}, nil
	})
	var l errandLog
	b := historian.Errand{Range: chronicle.Range{Start: 5, End: 10}, Budget: 30}
	b.Job.References = []chronicle.Compartment{{Start: 1, End: 4, Title: "prior"}}
	b.Job.WithoutFacts = true
	b.Job.Memories = []chronicle.Memory{{Category: "NAMING", Content: "known"}}
	got, err := historian.RunErrand(t.Context(), b, l.ports(asker))
	if err != nil || got.Next != 11 || len(l.saved) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !strings.Contains(prompts[0], `"prior"`) || !strings.Contains(prompts[1], `"prior"`) || !strings.Contains(prompts[1], `"Messages 6-7"`) {
		t.Error("references are missing")
	}
	if strings.Contains(prompts[0], "known") || !strings.Contains(prompts[0], "takes no facts") {
		t.Error("the run takes facts")
	}
}

func TestErrandEndsWithItsPorts(t *testing.T) {
	broken := errors.New("the disk is full")
	b := historian.Errand{Range: chronicle.Range{Start: 1, End: 10}, Budget: 80}
	var l errandLog
	p := l.ports(historiantest.Good())
	p.Save = func(context.Context, historian.Result) error { return broken }
	if got, err := historian.RunErrand(t.Context(), b, p); !errors.Is(err, broken) || got.Next != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	p = l.ports(historiantest.Good())
	p.Chunk = func(context.Context, chronicle.Range, int) (historian.Chunk, []historian.Message, error) {
		return historian.Chunk{}, nil, nil
	}
	if got, err := historian.RunErrand(t.Context(), b, p); err != nil || got.Problem == "" || got.Next != 1 {
		t.Errorf("no messages: %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := historian.RunErrand(ctx, b, l.ports(historiantest.Good())); !errors.Is(err, context.Canceled) || got.Next != 1 {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}
