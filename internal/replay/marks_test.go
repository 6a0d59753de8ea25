package replay

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
)

func TestNeighboursOfMarks(t *testing.T) {
	for _, c := range []struct {
		name string
		of   Marks
		auto float64
		want []Marks
	}{
		{"chosen by the price", Marks{High: 65}, 40, []Marks{{High: 60}, {High: 70}, {High: 65, Low: 35}, {High: 65, Low: 45}}},
		{"no episode", Marks{High: 65}, 0, []Marks{{High: 60}, {High: 70}}},
		{"fixed", Marks{High: 65, Low: 30}, 40, []Marks{{High: 60, Low: 30}, {High: 70, Low: 30}, {High: 65, Low: 25}, {High: 65, Low: 35}}},
		{"at the top", Marks{High: 80, Low: 75}, 0, []Marks{{High: 75, Low: 75}, {High: 80, Low: 70}}},
		{"at the bottom", Marks{High: 20, Low: 3}, 0, []Marks{{High: 25, Low: 3}, {High: 20, Low: 8}}},
		{"low next to high", Marks{High: 50}, 48, []Marks{{High: 45}, {High: 55}, {High: 50, Low: 43}}},
	} {
		if diff := cmp.Diff(c.want, c.of.neighbours(c.auto)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func openTrace(name string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(filepath.Join(traces, name)) }
}

func TestOtherSettingsOfTheDial(t *testing.T) {
	c := config.Default()
	c.ExecuteThresholdPercentage["default"], c.LowMarkPercentage = 70, 30
	own := chosen(c)
	want := []Marks{{Spending: "frugal", High: 70, Low: 30}, {Spending: "generous", High: 70, Low: 30}}
	if diff := cmp.Diff(want, own.others()); diff != "" || own.Spending != "balanced" {
		t.Errorf("beside %s (-want +got):\n%s", own, diff)
	}
	if got := want[0].at(c); got.Spending != "frugal" || got.LowMarkPercentage != 30 || got.ExecuteThresholdPercentage["default"] != 70 || c.Spending != "balanced" {
		t.Errorf("the configuration of %s is %+v", want[0], got)
	}
}

// RunMarks bills a trace with the chosen settings and with six variants: two other values of `spending`, two other high
// marks, and two other low marks. The session must bust in each variant, because the bill would otherwise only be that
// of an unmodified prompt. With a lower high mark, the session busts earlier, so the provider reads fewer tokens.
func TestMarksAreBilled(t *testing.T) {
	cfg := config.Default()
	cfg.LowMarkPercentage = 50
	done := 0
	o := Options{Window: 32_000, Mode: "subagent", Config: &cfg}
	own, err := runOnce(t.Context(), openTrace(edgeTrace), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Progress = func(n, all int) { done = n * 100 / all }
	bills, err := RunMarks(t.Context(), openTrace(edgeTrace), own, o, Near)
	if err != nil {
		t.Fatal(err)
	}
	if first := bills[0]; first.Bill != own.Bill || first.Busts != len(own.Busts) || first.Tokens != own.Tokens {
		t.Errorf("the bill at the chosen marks is %+v, and that of the report $%v with %d busts", first, own.Bill, len(own.Busts))
	}
	if len(bills) != 7 || !bills[0].Chosen || bills[0].High != 65 || bills[0].Low != 50 || done != 100 {
		t.Fatalf("%d %%, %+v", done, bills)
	}
	byMarks := make(map[Marks]MarksBill)
	for _, b := range bills {
		if b.Bill <= 0 || b.Tokens.Read == 0 || b.Busts == 0 {
			t.Errorf("nothing was billed: %+v", b)
		}
		if b.Spending == cfg.Spending {
			byMarks[Marks{High: b.High, Low: b.Low}] = b
		}
	}
	if early, late := byMarks[Marks{High: 60, Low: 50}], byMarks[Marks{High: 70, Low: 50}]; early.Tokens.Read >= late.Tokens.Read {
		t.Errorf("a high mark of 60 %% reads %d tokens, one of 70 %% %d", early.Tokens.Read, late.Tokens.Read)
	}
}

func TestMarksCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := RunMarks(ctx, openTrace("short.jsonl.gz"), Summary{}, Options{Progress: func(done, all int) {
		if done > all*5/6 { // during the last of four runs: this trace has no bust, so no other low mark is tried
			cancel()
		}
	}}, Near)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "spending balanced, high mark 70%, low mark auto") {
		t.Errorf("got %v", err)
	}
}

func TestBillAtMarksIncludesTheHistorian(t *testing.T) {
	s := Summary{Bill: 2, Saved: map[string]schema.Saving{"one": {Historian: 0.5}, "other": {Historian: 0.25}}}
	if got := billAt(Marks{}, s).Bill; got != 2.75 {
		t.Errorf("$%v, want $2.75", got)
	}
}
