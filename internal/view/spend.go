package view

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// A Spend is the cost of the hidden agents, and the results of their work.
type Spend struct {
	Rows  []SpendRow `json:"rows"` // the newest day first
	Total SpendSum   `json:"total"`
	// Runs are the runs of the dreamer, the newest first, with the command that undoes each of them.
	Runs []chronicle.Report `json:"runs,omitempty"`
}

// A SpendRow is the cost of one agent with one model in one project on one day.
type SpendRow struct {
	Day       string `json:"day"`     // for example "2026-11-26", in local time
	Project   string `json:"project"` // identity, "" if it is not known
	Directory string `json:"directory"`
	Agent     string `json:"agent"`
	Model     string `json:"model"` // "provider/model"
	SpendSum
}

// A SpendSum is the sum of several calls. A call is a question of an agent to a model.
type SpendSum struct {
	Calls int `json:"calls"`
	// Runs counts the runs that asked a model. Changes counts the dreamer's changes of memories that are not undone, for
	// example a merge of two memories. Memories counts only new memories.
	Runs    int `json:"runs"`
	Changes int `json:"changes"`
	// UnpricedCalls counts the calls of models without a known price. Money leaves out these calls.
	UnpricedCalls int `json:"unpricedCalls"`
	// Reserved is the largest possible cost, in $, of calls that have not ended, or that ended without a report. Money
	// leaves it out.
	Reserved     float64 `json:"reserved"`
	InputTokens  int     `json:"inputTokens"`
	OutputTokens int     `json:"outputTokens"`
	CacheRead    int     `json:"cacheReadTokens"`
	CacheWrite   int     `json:"cacheWriteTokens"`
	Money        float64 `json:"money"` // in $
	Compartments int     `json:"compartments"`
	Memories     int     `json:"memories"`
	Findings     int     `json:"findings"`
}

func (s *SpendSum) add(c chronicle.Call) {
	s.Calls++
	switch {
	case c.Reserved > 0:
		s.Reserved += float64(c.Reserved) / chronicle.Dollar
	case c.Cost == nil:
		s.UnpricedCalls++
	default:
		s.Money += float64(*c.Cost) / chronicle.Dollar
	}
	s.InputTokens += c.Input
	s.OutputTokens += c.Output
	s.CacheRead += c.CacheRead
	s.CacheWrite += c.CacheWrite
	s.Compartments += c.Compartments
	if c.Agent == dreamer {
		s.Changes += c.Memories
	} else {
		s.Memories += c.Memories
	}
	s.Findings += c.Findings
}

// The historian writes summaries, and the dreamer maintains memories.
const (
	historian = "historian"
	dreamer   = "dreamer"
)

func (s *SpendSum) tokens() int {
	return s.InputTokens + s.OutputTokens + s.CacheRead + s.CacheWrite
}

// The method `money` formats the cost, for example "$0.12". If the prices of some calls are unknown, it returns "$0.12
// + ?".
func (s *SpendSum) money() string {
	switch s.UnpricedCalls {
	case 0:
		return format.Money(s.Money)
	case s.Calls:
		return "?"
	}
	return format.Money(s.Money) + " + ?"
}

// markedMoney adds an asterisk if there are also reserved costs, for example "$0.12*".
func (s *SpendSum) markedMoney() string {
	if s.Reserved > 0 {
		return s.money() + "*"
	}
	return s.money()
}

// perRun returns the average cost of a run, for example "$0.04". It leaves out calls without a known price.
func (s *SpendSum) perRun() string {
	if s.UnpricedCalls == s.Calls {
		return "?"
	}
	return format.Money(s.Money / float64(max(s.Runs, 1)))
}

// SpendOf sums up calls, which must be sorted by time. Days begin and end in the time zone `at`.
func SpendOf(calls []chronicle.Call, runs []chronicle.Report, at *time.Location) Spend {
	out := Spend{Rows: []SpendRow{}, Runs: runs}
	type use struct {
		row    int
		holder string
	}
	isKnown, isCounted := make(map[use]bool), make(map[string]bool)
	for _, c := range slices.Backward(calls) {
		day := time.UnixMilli(c.At).In(at).Format(time.DateOnly)
		i := slices.IndexFunc(out.Rows, func(r SpendRow) bool {
			return r.Day == day && r.Project == c.Project && (c.Project != "" || r.Directory == c.Directory) && r.Agent == c.Agent && r.Model == c.Model
		})
		if i < 0 {
			i = len(out.Rows)
			out.Rows = append(out.Rows, SpendRow{Day: day, Project: c.Project, Directory: c.Directory, Agent: c.Agent, Model: c.Model})
		}
		out.Rows[i].add(c)
		out.Total.add(c)
		if !isKnown[use{i, c.Holder}] {
			isKnown[use{i, c.Holder}] = true
			out.Rows[i].Runs++
		}
		if !isCounted[c.Holder] {
			isCounted[c.Holder] = true
			out.Total.Runs++
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b SpendRow) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(a.Directory, b.Directory), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return out
}

func PrintSpend(w io.Writer, spent Spend, since time.Time, p Page) error {
	s := p.screen()
	total := spent.Total
	if total.Calls == 0 {
		s.paragraph(Plain, " ", fmt.Sprintf("Since %s, magicctx's agents have asked no model.", since.Format(time.DateOnly)))
		return s.print(w)
	}
	made := format.Count(total.Compartments, "summary") + " and " + format.Count(total.Memories, "memory")
	if total.Changes > 0 {
		made += ", and changed " + format.Count(total.Changes, "memory")
	}
	if total.Findings > 0 {
		made += fmt.Sprintf(", and given %s to prompts", format.Count(total.Findings, "finding"))
	}
	s.paragraph(Plain, " ", fmt.Sprintf("Since %s, magicctx's agents have spent %s: %s, %s, %s tokens. They have published %s.",
		since.Format(time.DateOnly), total.money(), format.Count(total.Runs, "run"), format.Count(total.Calls, "call"), format.Tokens(total.tokens()), made))
	historians := 0.0
	for _, r := range spent.Rows {
		if r.Agent == historian {
			historians += r.Money
		}
	}
	if historians > 0 {
		s.paragraph(Plain, " ", fmt.Sprintf("The bills of your sessions, in the status and in replay, include the historian's part of this: %s.", format.Money(historians)))
	}
	if total.Reserved > 0 {
		s.paragraph(Plain, " ", fmt.Sprintf("For calls under way, or cut off, %s more is reserved (*).", format.Money(total.Reserved)))
	}
	if total.UnpricedCalls > 0 {
		s.paragraph(Faint, " ", "The harness names no price for a model with a question mark.")
	}
	s.line("")
	s.days(spent.Rows)
	s.line("")
	rows := spent.Rows
	s.table(len(rows), tableColumn{"PROJECT", 40, false, func(i int) string { return projectOf(schema.SessionStatus{Directory: rows[i].Directory}) }}, []tableColumn{
		{"DAY", 5, false, func(i int) string { return rows[i].Day[len("2006-"):] }},
		{"AGENT", 9, false, func(i int) string { return format.Clean(rows[i].Agent) }},
		{"MODEL", 12, false, func(i int) string { return format.Clean(cmp.Or(path.Base(rows[i].Model), "-")) }},
		{"RUNS", 4, true, func(i int) string { return fmt.Sprint(rows[i].Runs) }},
		{"MONEY", 10, true, func(i int) string { return rows[i].markedMoney() }},
		{"PER RUN", 7, true, func(i int) string { return rows[i].perRun() }},
		{"SUMMARIES", 9, true, func(i int) string { return dashIfZero(rows[i].Compartments) }},
		{"MEMORIES", 8, true, func(i int) string { return dashIfZero(rows[i].Memories) }},
		{"TOKENS", 6, true, func(i int) string { return format.Tokens(rows[i].tokens()) }},
		{"CHANGED", 7, true, func(i int) string { return dashIfZero(rows[i].Changes) }},
		{"FINDINGS", 8, true, func(i int) string { return dashIfZero(rows[i].Findings) }},
		{"CALLS", 5, true, func(i int) string { return fmt.Sprint(rows[i].Calls) }},
	})
	for _, r := range spent.Runs {
		cost := "?"
		if r.Cost != nil {
			cost = format.Money(float64(*r.Cost) / chronicle.Dollar)
		}
		s.paragraph(Plain, " "+time.UnixMilli(r.At).In(since.Location()).Format("2006-01-02 15:04")+"  "+cost+"  ", format.Clean(r.Text))
	}
	return s.print(w)
}

// days draws a bar for each day. Its length is the day's money or, if no price is known, the day's tokens.
func (s *screen) days(rows []SpendRow) {
	var names []string
	sums := make(map[string]*SpendSum)
	for _, r := range rows {
		sum := sums[r.Day]
		if sum == nil {
			sum = new(SpendSum)
			sums[r.Day] = sum
			names = append(names, r.Day)
		}
		sum.Calls, sum.UnpricedCalls, sum.Money = sum.Calls+r.Calls, sum.UnpricedCalls+r.UnpricedCalls, sum.Money+r.Money
		sum.InputTokens, sum.Reserved = sum.InputTokens+r.tokens(), sum.Reserved+r.Reserved
	}
	most := SpendSum{}
	for _, sum := range sums {
		most.Money, most.InputTokens = max(most.Money, sum.Money), max(most.InputTokens, sum.InputTokens)
	}
	cells := float64(min(s.width-27, 60))
	for _, day := range names {
		sum := sums[day]
		share := float64(sum.InputTokens) / float64(most.InputTokens)
		if most.Money > 0 {
			share = sum.Money / most.Money
		}
		bar := max(1, int(cells*share+0.5))
		s.line(" " + day + "  " + format.Right(sum.markedMoney(), 10) + "  " + s.Paint(Good, strings.Repeat("█", bar)))
	}
}
