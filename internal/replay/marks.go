package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	// markStep is the distance between the chosen mark and its neighbours, in percentage points.
	markStep = 5
	// The execute threshold can be configured from 20 to 80 % (package schema). The low mark must
	// be below the threshold.
	minHighMark, maxHighMark = 20, 80
	maxLowMark               = 75
)

// Marks are one choice of settings: a value of the configuration's key `spending`, and a high and a low mark in percent
// of the window. Low is 0 if the passes choose the low mark by price.
type Marks struct {
	Spending schema.Spending `json:"spending"`
	High     float64         `json:"high"`
	Low      float64         `json:"low"`
	Chosen   bool            `json:"chosen,omitzero"`
}

// String describes the marks in one line, for example "spending balanced, high mark 65%, low mark auto".
func (m Marks) String() string {
	return fmt.Sprintf("spending %s, high mark %.0f%%, low mark %s", m.Spending, m.High, m.LowText())
}

func (m Marks) LowText() string {
	if m.Low == 0 {
		return "auto"
	}
	return fmt.Sprintf("%.0f%%", m.Low)
}

// A MarksBill says what a trace costs with one choice of settings.
type MarksBill struct {
	Marks
	Busts  int    `json:"busts"`
	Tokens Tokens `json:"tokens"`
	// Bill includes the runs of the historian, because settings with smaller prompts usually need more of them.
	Bill float64 `json:"bill"`
	// Removed is the number of tokens that busts removed, and Reread the part that the model soon read again.
	Removed int `json:"removedTokens"`
	Reread  int `json:"rereadTokens"`
	// With other marks, the host asks the historian at other times, and the trace may not contain these questions.
	// MissedRuns is the number of questions without a recorded answer.
	MissedRuns int `json:"missedRuns,omitzero"`
}

func chosen(c schema.Config) Marks {
	high, _ := config.Threshold(c, "", "", 0)
	return Marks{Spending: c.Spending, High: high, Low: c.LowMarkPercentage, Chosen: true}
}

func (m Marks) others() []Marks {
	var all []Marks
	for _, s := range schema.Spendings {
		if s != m.Spending {
			all = append(all, Marks{Spending: s, High: m.High, Low: m.Low})
		}
	}
	return all
}

// neighbours returns m with a slightly lower and a slightly higher high mark, and with a slightly lower and a slightly
// higher low mark. If the passes choose the low mark by price, low is the average of their choices in percent, or 0 if
// no pass had to choose.
func (m Marks) neighbours(low float64) []Marks {
	var all []Marks
	for _, high := range []float64{m.High - markStep, m.High + markStep} {
		if high >= minHighMark && high <= maxHighMark {
			all = append(all, Marks{Spending: m.Spending, High: high, Low: m.Low})
		}
	}
	if m.Low > 0 {
		low = m.Low
	}
	for _, n := range []float64{low - markStep, low + markStep} {
		if low > 0 && n > 0 && n <= maxLowMark && n < m.High {
			all = append(all, Marks{Spending: m.Spending, High: m.High, Low: n})
		}
	}
	return all
}

// meanLow returns the average low mark of a replay's busts, in whole percent of the window, or 0.
func meanLow(passes []*Pass) float64 {
	sum, busts := 0.0, 0
	for _, p := range passes {
		if p.Bust && p.Verdict == schema.Soft && p.Goal > 0 && p.WindowTokens > 0 {
			sum += float64(p.Goal) / float64(p.WindowTokens)
			busts++
		}
	}
	if busts == 0 {
		return 0
	}
	return math.Round(100 * sum / float64(busts))
}

// The method `at` returns the configuration c, changed by all settings in m that are not zero. The marks apply to every
// model.
func (m Marks) at(c schema.Config) schema.Config {
	c.Spending = cmp.Or(m.Spending, c.Spending)
	if high, _ := config.Threshold(c, "", "", 0); m.High > 0 && m.High != high {
		c.ExecuteThresholdPercentage = map[string]float64{"default": m.High}
		c.ExecuteThresholdTokens = nil
	}
	c.LowMarkPercentage = cmp.Or(m.Low, c.LowMarkPercentage)
	return c
}

// Near returns variants of the chosen settings. Some have another value of `spending`, and the others have a slightly
// lower or higher mark. `low` is the average low mark of the busts.
func Near(chosen Marks, low float64) []Marks {
	return append(chosen.others(), chosen.neighbours(low)...)
}

const gridStep = 15

// Grid returns all combinations of a value of `spending` and one of three high marks: the chosen one, a lower one and a
// higher one. It leaves out the combination that the user has chosen.
func Grid(chosen Marks, _ float64) (all []Marks) {
	chosen.Chosen = false
	for _, high := range []float64{max(minHighMark, chosen.High-gridStep), chosen.High, min(maxHighMark, chosen.High+gridStep)} {
		for _, spending := range schema.Spendings {
			m := Marks{Spending: spending, High: high, Low: chosen.Low}
			if m != chosen && !slices.Contains(all, m) && m.Low < high {
				all = append(all, m)
			}
		}
	}
	return all
}

// RunMarks replays a trace with each of the settings that `others` (Near or Grid) returns, and returns their bills. The
// first bill is for the chosen settings. RunMarks does not replay the trace for this bill, but takes it from `own`, the
// summary of an earlier replay with the options o.
//
// RunMarks calls `open` once for each replay. o.Progress counts the steps of all replays together. The recorded usage
// is only valid for the recorded settings, so RunMarks ignores o.AsRecorded, and `own` must not come from a replay with
// AsRecorded.
func RunMarks(ctx context.Context, open func() (io.ReadCloser, error), own Summary, o Options, others func(chosen Marks, low float64) []Marks) ([]MarksBill, error) {
	base, err := recordedConfig(open)
	if err != nil {
		return nil, err
	}
	if o.Config != nil {
		base = *o.Config
	}
	base = o.Marks.at(base)
	bills := []MarksBill{billAt(chosen(base), own)}
	all := others(chosen(base), meanLow(own.Detail))
	progress := o.Progress
	for i, m := range all {
		o.Marks, o.AsRecorded = m, false
		if progress != nil {
			o.Progress = func(done, steps int) { progress(i*steps+done, len(all)*steps) }
		}
		s, err := runOnce(ctx, open, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m, err)
		}
		bills = append(bills, billAt(m, s))
	}
	return bills, nil
}

func billAt(m Marks, s Summary) MarksBill {
	regret := schema.SumOf(s.Regret().Removals)
	return MarksBill{Marks: m, Busts: len(s.Busts), Tokens: s.Tokens, Bill: s.Cost(), Removed: regret.Tokens, Reread: regret.Reread, MissedRuns: len(s.MissedRuns)}
}

func runOnce(ctx context.Context, open func() (io.ReadCloser, error), o Options) (Summary, error) {
	r, err := open()
	if err != nil {
		return Summary{}, err
	}
	defer r.Close()
	report, err := Run(ctx, r, o)
	if err != nil {
		return Summary{}, err
	}
	return report.Summary(), nil
}
