package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/traces"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/models"
)

// Options say which sessions to compare, and at which prices.
type Options struct {
	Dir string
	// Of lists trace files and ids of sessions. If it is empty, Run compares all traces that have changed after the
	// time `Since`.
	Of     []string
	Since  time.Time
	Prices replay.Prices
	// Progress gets each line of progress for people, and an empty line at the end. Progress may be nil.
	Progress func(text string)
}

// A Row sums up all traces of one session. Bills are in US dollars. Alone is the bill without magicctx, and Magicctx
// the bill with it. Historian, the bill of the historian, is a part of Magicctx.
type Row struct {
	Traces      []string `json:"traces,omitempty"`
	Session     string   `json:"session,omitzero"`
	Requests    int      `json:"requests"`
	Busts       int      `json:"busts"`
	Alone       float64  `json:"alone"`
	Compactions int      `json:"compactions"`
	Magicctx    float64  `json:"magicctx"`
	Historian   float64  `json:"historian"`
	// IsIncomplete means that a trace lacks facts, so its replay may differ from the session.
	IsIncomplete bool `json:"isIncomplete,omitzero"`
}

type Damaged struct {
	Trace string `json:"trace"`
	Error string `json:"error"`
}

// A Result compares all sessions. Amounts are in US dollars.
type Result struct {
	// Since is absent if the sessions were named.
	Since   string    `json:"since,omitempty"`
	Rows    []Row     `json:"sessions"`
	Total   Row       `json:"total"`
	Damaged []Damaged `json:"damaged"`
}

func Run(ctx context.Context, o Options) (Result, error) {
	out := Result{Rows: []Row{}, Damaged: []Damaged{}}
	all, wanted, err := choose(ctx, o)
	if err != nil {
		return out, err
	}
	if len(o.Of) == 0 {
		out.Since = o.Since.Format(time.DateOnly)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	defer o.Progress("")
	for i, t := range all {
		s, err := play(ctx, t, replay.Options{Prices: o.Prices, Progress: func(done, steps int) {
			o.Progress(fmt.Sprintf("trace %d of %d: step %d of %d", i+1, len(all), done, steps))
		}})
		name := filepath.Base(t.Path)
		switch {
		case ctx.Err() != nil:
			return out, fmt.Errorf("compare: %w", ctx.Err())
		case errors.Is(err, replay.ErrNoRequest): // a harness was only started
		case err != nil:
			out.Damaged = append(out.Damaged, Damaged{name, err.Error()})
		default:
			for _, one := range s.Sessions() {
				if id := one.Detail[0].Session; wanted[t.Path] == nil || wanted[t.Path][id] {
					row := rowOf(id, one)
					row.Traces, row.IsIncomplete = []string{name}, len(s.Missing) > 0
					out.add(row)
				}
			}
		}
	}
	if len(out.Rows) > 0 {
		return out, nil
	}
	err = fmt.Errorf("compare: no request to a model is in %s", format.Count(len(all), "trace"))
	for _, d := range out.Damaged {
		err = fmt.Errorf("%w; %s is left out: %s", err, format.Clean(d.Trace), format.Clean(d.Error))
	}
	return out, err
}

// The function `choose` returns the traces to compare. `wanted` maps the path of a trace to the ids of the chosen
// sessions in it. If the ids of a trace are nil, all its sessions are chosen.
func choose(ctx context.Context, o Options) (all []traces.Trace, wanted map[string]map[string]bool, err error) {
	wanted = make(map[string]map[string]bool)
	if len(o.Of) == 0 {
		found, err := traces.All(o.Dir)
		for _, t := range found {
			if !t.Changed.Before(o.Since) {
				all = append(all, t)
			}
		}
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("no trace since %s; %s", o.Since.Format(time.DateOnly), traces.How())
		}
		return all, wanted, err
	}
	for _, of := range o.Of {
		if _, err := os.Stat(of); err == nil {
			// Another name may have chosen the file already.
			if i := slices.IndexFunc(all, func(t traces.Trace) bool { return traces.IsSame(t.Path, of) }); i >= 0 {
				of = all[i].Path
			} else {
				all = append(all, traces.Trace{Path: of})
			}
			wanted[of] = nil
			continue
		}
		found, err := traces.Of(ctx, o.Dir, of)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", format.Clean(of), err)
		}
		for _, t := range found {
			i := slices.IndexFunc(all, func(o traces.Trace) bool { return traces.IsSame(o.Path, t.Path) })
			if i < 0 {
				i, wanted[t.Path] = len(all), make(map[string]bool)
				all = append(all, t)
			}
			if chosen := wanted[all[i].Path]; chosen != nil {
				chosen[of] = true
			}
		}
	}
	return all, wanted, nil
}

func play(ctx context.Context, t traces.Trace, o replay.Options) (replay.Summary, error) {
	f, err := os.Open(t.Path)
	if err != nil {
		return replay.Summary{}, err
	}
	defer f.Close()
	played, err := replay.Run(ctx, traces.Reader(ctx, f), o)
	if err != nil {
		return replay.Summary{}, err
	}
	if played.IsTruncated {
		return replay.Summary{}, errors.New("the compressed file breaks off")
	}
	return played.Summary(), nil
}

func rowOf(session string, s replay.Summary) Row {
	saved, _ := s.Saving()
	return Row{
		Session: session, Requests: s.Passes, Busts: len(s.Busts),
		Alone: s.Alone.Bill, Compactions: s.Alone.Compactions, Magicctx: s.Cost(), Historian: saved.Historian,
	}
}

// The method `add` adds a row to the result. If the result already has a row of the same session, from another trace,
// it merges the two rows.
func (r *Result) add(row Row) {
	r.Total.add(row)
	i := slices.IndexFunc(r.Rows, func(known Row) bool { return known.Session == row.Session })
	if i < 0 {
		r.Rows = append(r.Rows, row)
		return
	}
	r.Rows[i].Traces = append(r.Rows[i].Traces, row.Traces...)
	r.Rows[i].add(row)
}

func (t *Row) add(row Row) {
	t.Requests, t.Busts, t.Compactions = t.Requests+row.Requests, t.Busts+row.Busts, t.Compactions+row.Compactions
	t.Alone, t.Magicctx, t.Historian = t.Alone+row.Alone, t.Magicctx+row.Magicctx, t.Historian+row.Historian
	t.IsIncomplete = t.IsIncomplete || row.IsIncomplete
}

func (r Result) Sentence() string {
	t := r.Total
	text := format.Count(len(r.Rows), "recorded session")
	if r.Since != "" {
		text = "Since " + r.Since + ", " + text
	}
	text += fmt.Sprintf(" with %s would have cost %s with the harness alone", format.Count(t.Requests, "request"), format.Money(t.Alone))
	if t.Compactions > 0 {
		text += ", which would have summarised " + format.Count(t.Compactions, "time")
	}
	text += "; the bill with magicctx is " + format.Money(t.Magicctx) + words.OfHistorian(t.Historian)
	switch less := t.Alone - t.Magicctx; {
	case t.Alone == 0:
	case less >= 0:
		text += fmt.Sprintf(", %s (%s) less", format.Money(less), format.Percent(less/t.Alone))
	default:
		text += fmt.Sprintf(", %s (%s) more", format.Money(-less), format.Percent(-less/t.Alone))
	}
	text += ". Not counted: " + words.NotBilled + "."
	if n := len(r.Damaged); n > 0 {
		text += " Left out: " + format.Count(n, "damaged trace") + "."
	}
	return text
}

// Caveat warns of sessions with an incomplete trace, or returns "".
func (r Result) Caveat() string {
	n := 0
	for _, row := range r.Rows {
		if row.IsIncomplete {
			n++
		}
	}
	switch {
	case n == 0:
		return ""
	case len(r.Rows) == 1:
		return "The trace (*) is incomplete, so the bills may be wrong: replay says why."
	}
	return fmt.Sprintf("Incomplete traces (*): %d of %d sessions. Bills may be wrong: replay says why.", n, len(r.Rows))
}

// ParseSince reads a time such as 7d, 36h or 2026-11-20.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= 36_500 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	t, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	if err != nil {
		return t, fmt.Errorf("--since is %q; it is like 7d, 36h or 2026-11-20", format.Clean(text))
	}
	return t, nil
}

// In $ for a million tokens.
const maxPrice = 1e6

// If `name` is a file, ReadPrices reads prices from the file as JSON. Otherwise, it passes `name` to PricesOf.
func ReadPrices(ctx context.Context, dataDir, name string) (replay.Prices, error) {
	if name == "" {
		return nil, nil
	}
	content, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return PricesOf(ctx, dataDir, name)
	}
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	var list replay.Prices
	if err := json.UnmarshalStrict(content, &list); err != nil {
		return nil, fmt.Errorf(`%s is no list of prices like {"anthropic/claude": {"fresh": 3, "write": 3.75, "read": 0.3, "output": 15}}: %w`, format.Clean(name), err)
	}
	for model, p := range list {
		if !isPrice(p) {
			return nil, fmt.Errorf("prices in %s: %s needs fresh, write, read and output in $ for a million tokens, at most 1,000,000 each", format.Clean(name), format.Clean(model))
		}
	}
	return list, nil
}

func isPrice(p schema.Price) bool {
	return min(p.Fresh, p.Write, p.Read, p.Output) >= 0 && max(p.Fresh, p.Write, p.Read, p.Output) <= maxPrice && p != (schema.Price{})
}

// PricesOf returns the prices that `text` describes, for use with every model. `text` names a model whose prices are
// known, for example "anthropic/claude", or lists four prices, for example "3 3.75 0.3 15" (fresh, write, read and
// output, in $ per million tokens). If `text` is empty, PricesOf returns nil.
func PricesOf(ctx context.Context, dataDir, text string) (replay.Prices, error) {
	if text == "" {
		return nil, nil
	}
	var p schema.Price
	if n, err := fmt.Sscan(text, &p.Fresh, &p.Write, &p.Read, &p.Output); n > 0 {
		if err != nil || !isPrice(p) {
			return nil, fmt.Errorf("prices are %q; four are needed: fresh, write, read and output in $ for a million tokens, at most 1,000,000 each", format.Clean(text))
		}
		return replay.Prices{replay.EveryModel: p}, nil
	}
	provider, model, isModel := strings.Cut(text, "/")
	if isModel {
		known, err := models.View(ctx, dataDir, provider, model)
		if err != nil {
			return nil, err
		}
		p = schema.Price{Fresh: known.PriceFresh, Write: known.PriceWrite, Read: known.PriceRead, Output: known.PriceOutput}
	}
	if p == (schema.Price{}) {
		return nil, fmt.Errorf("prices: magicctx knows no prices of a model %q, such as anthropic/claude, and there is no such file", format.Clean(text))
	}
	return replay.Prices{replay.EveryModel: p}, nil
}
