package report

import (
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/words"
)

func HistoryNotes(p *replay.Pass) []string {
	var notes []string
	for _, published := range p.Published {
		notes = append(notes, "summarised: "+words.Published(published))
	}
	if p.Fold != "" && p.Head != nil {
		notes = append(notes, fmt.Sprintf("the summaries in the prompt were written anew %s: %s", words.FoldReason(p.Fold), words.HeadSizes(*p.Head)))
	}
	return notes
}

// Epochs sums up the folds, for example "the summaries in the prompt were written anew 3 times: after a pause
// 2, first summaries 1", or "".
func Epochs(folds []replay.Fold) string {
	if len(folds) == 0 {
		return ""
	}
	var order, counts []string
	n := make(map[string]int)
	for _, f := range folds {
		if n[f.Reason] == 0 {
			order = append(order, f.Reason)
		}
		n[f.Reason]++
	}
	for _, reason := range order {
		counts = append(counts, fmt.Sprintf("%s %d", format.Cause(reason), n[reason]))
	}
	return "the summaries in the prompt were written anew " + format.Count(len(folds), "time") + ": " + strings.Join(counts, ", ")
}

// Publications sums up the publications, for example "7 runs of the historian, 1 without a model", or "".
func Publications(all []replay.Publish) string {
	if len(all) == 0 {
		return ""
	}
	extracted := 0
	for _, p := range all {
		if p.MadeBy == "extractive" {
			extracted++
		}
	}
	text := format.Count(len(all), "run") + " of the historian"
	if extracted > 0 {
		text += fmt.Sprintf(", %d without a model", extracted)
	}
	return text
}

func (p *printer) history(s replay.Summary) {
	for _, last := range lastPasses(s.Detail) {
		if last.Head == nil && last.History == nil {
			continue
		}
		p.wrapped("history of "+format.Clean(last.Session)+": ", strings.Join(words.HistoryLines(last.Head, last.History), "; "))
	}
	for _, text := range []string{Epochs(s.Folds), Publications(s.Publishes)} {
		if text != "" {
			p.wrapped("", text)
		}
	}
}

func lastPasses(passes []*replay.Pass) []*replay.Pass {
	var all []*replay.Pass
	at := make(map[string]int)
	for _, q := range passes {
		i, isKnown := at[q.Session]
		if !isKnown {
			at[q.Session] = len(all)
			all = append(all, q)
			continue
		}
		all[i] = q
	}
	return all
}

func (p *printer) sections(passes []*replay.Pass) {
	if len(passes) == 0 {
		return
	}
	largest := passes[0]
	for _, q := range passes {
		if q.Sources.Total() > largest.Sources.Total() {
			largest = q
		}
	}
	var parts []string
	for _, s := range Sections(largest.Sources) {
		if s.Tokens > 0 {
			parts = append(parts, s.Name+" "+format.Tokens(s.Tokens))
		}
	}
	p.wrapped("the largest prompt: ", strings.Join(parts, ", "))
}

type Section struct {
	Name   string
	Tokens int
}

// Sections returns the parts of a prompt in the order of the wire: first the system prompt and the head, then
// the tail by kind of content.
func Sections(s replay.Sources) []Section {
	return []Section{
		{"system prompt", s.System},
		{"guidance", s.Guidance},
		{"summarised history", s.Head},
		{"memories", s.Memories},
		{"text", s.Text},
		{"reasoning", s.Reasoning},
		{"tool inputs", s.Inputs},
		{"tool results", s.Results},
		{"files", s.Files},
	}
}

func (p *printer) wrapped(label, text string) {
	for _, line := range wrap(label+text, columns) {
		fmt.Fprintln(p.w, line)
	}
}
