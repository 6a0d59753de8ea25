package summary

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/marking"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// The pipeline, the historian and the store do not know each other. This file translates between them.

// The historian reads this number of the newest compartments, so that it can continue their story.
const references = 6

// Of these compartments, the historian reads the newest `detailed` ones in their first tier, and the older ones in
// their second tier. It does not read the other tiers, because they would repeat the same content, and most of a run's
// cost is the text that it reads.
const detailed = 2

func readChunk(u pipeline.Uncovered, snapshot history.Snapshot, budget int) (history.Chunk, error) {
	chunk := history.ReadChunk(u.Messages, snapshot.Start, snapshot.End, budget, tokens.Count)
	chunk.Truncate(budget, tokens.Count)
	if err := chunk.CheckCoverage(); err != nil {
		return chunk, err
	}
	if chunk.End < chunk.Start {
		return chunk, errors.New("the eligible messages are unreadable")
	}
	return chunk, nil
}

// The historian calls Raw only when it needs the raw messages, to check an answer or to write an extract. A run that
// ends before that does not convert them.
func (h *Historian) job(s *session.Session, chunk history.Chunk, u pipeline.Uncovered) historian.Job {
	j := h.pattern(s)
	words := s.Pipe.Codec.Vocabulary()
	j.Chunk, j.Raw = chunkOf(chunk), sync.OnceValue(func() []historian.Message { return rawOf(u.Messages, u.Decode, chunk.Range, words) })
	j.KeepLast = history.LevelOf(stateOf(s).usage, stateOf(s).threshold) > 0
	return j
}

func (h *Historian) pattern(s *session.Session) historian.Job {
	w := stateOf(s)
	return historian.Job{
		Session: s.Key.Session, References: referencesOf(s.Chronicle.Compartments), Memories: unexpired(s.Chronicle.Memories.Memories, h.Clock.Now()), WithoutFacts: !w.config.Memory.Enabled || !w.config.Memory.AutoPromote,
		Observes: w.config.Dreamer.UserMemories.Enabled, Edit: w.config.Historian.TwoPass, Models: historianModels(w.config.Historian.Agent), LiveModel: w.model.Provider + "/" + w.model.ID,
		Timeout: time.Duration(w.config.HistorianTimeoutMS) * time.Millisecond,
	}
}

func unexpired(memories []chronicle.Memory, now int64) []chronicle.Memory {
	return slices.DeleteFunc(slices.Clone(memories), func(m chronicle.Memory) bool { return m.ExpiresAt != 0 && m.ExpiresAt <= now })
}

// The models have the form "provider/model".
func historianModels(a schema.Agent) []string {
	return ask.Models(append([]string{a.Model}, a.FallbackModels...)...)
}

// historianLimit returns the smallest prompt limit of the models that may be asked, in the host's tokens. It
// may ask the harness, which takes time, so it must not run while a user waits.
func (h *Historian) historianLimit(ctx context.Context, w *passFacts) (int, error) {
	limits := []int{w.limit}
	for _, name := range historianModels(w.config.Historian.Agent) {
		if provider, id, ok := ask.Split(name); ok {
			told, err := h.Models.Limits(ctx, w.client, w.directory, schema.Model{Provider: provider, ID: id})
			if err != nil {
				return 0, err
			}
			limits = append(limits, h.Models.TokenRatio(ctx, schema.Model{Provider: provider, ID: id}).OwnTokens(model.PromptLimit(told)))
		}
	}
	return history.HistorianLimit(limits...), nil
}

// chunkOf converts a chunk for the historian. It removes colour codes, which the output of a command may contain.
func chunkOf(c history.Chunk) historian.Chunk {
	return historian.Chunk{Range: c.Range, Text: format.WithoutSequences(c.Text()), Lines: c.Lines, ToolOnly: c.ToolOnly}
}

func rawOf(messages *history.Messages, decode func(ordinal int) *transcript.Message, r chronicle.Range, words *transcript.Vocabulary) []historian.Message {
	var all []historian.Message
	for _, m := range messages.Between(r.Start, r.End+1) {
		if decoded := decode(m.Ordinal); decoded != nil {
			all = append(all, RawOf(&m, decoded, words))
		}
	}
	return all
}

// RawOf converts a message for the historian. The result includes the outputs of the message's tool calls.
func RawOf(m *history.Message, decoded *transcript.Message, words *transcript.Vocabulary) historian.Message {
	raw := historian.Message{Ordinal: m.Ordinal, Role: historian.Role(m.Role), Texts: m.Texts}
	for _, o := range m.Others {
		if o.Origin == transcript.FromAgent { // Pi's summary of another branch is the whole message
			raw.Role, raw.Texts = historian.Assistant, append(raw.Texts, o.Text)
			continue
		}
		raw.Others = append(raw.Others, o.Text)
	}
	for i := range decoded.Parts {
		p := &decoded.Parts[i]
		if p.Kind == transcript.Tool && !p.Hidden && !decoded.Hidden {
			raw.Calls = append(raw.Calls, historian.Call{
				Tool: p.Name, Arguments: p.Input, Output: p.Text, IsError: p.IsError,
				Writes: words.Tool(p.Name).File == transcript.WritesFile,
			})
		}
	}
	return raw
}

func referencesOf(all []chronicle.Compartment) []chronicle.Compartment {
	newest := slices.Clone(all[max(0, len(all)-references):])
	for i, c := range newest {
		tier := 1 // the second tier, because the historian needs older parts of the story only briefly
		if i >= len(newest)-detailed {
			tier = 0
		}
		newest[i].Tiers = [4]string{}
		newest[i].Tiers[tier] = cmp.Or(c.Tiers[tier], c.Tiers[0])
	}
	return newest
}

func publication(p *run, r historian.Result) store.Publication {
	out := store.Publication{Key: p.key, Holder: p.holder, After: p.after, Project: p.project, Run: runRow(p, r), Compartments: compartmentsOf(r, p.job.Raw(), p.summary)}
	if p.filler != nil && p.filler.Start == p.after.Ordinal {
		out.Compartments = append([]chronicle.Compartment{historian.WithoutQuotes(*p.filler)}, out.Compartments...)
	}
	if p.facts.config.CompactionMarkers && len(r.Compartments) > 0 {
		out.Marker = marking.PendingAt(r.Compartments[len(r.Compartments)-1], p.started)
	}
	if out.Project != "" { // without a project, no session could find the facts again
		out.Facts, out.Promises, out.Closed = r.Facts, r.Promises, r.Closed
	}
	out.Observations, out.PromoteAt = r.Observations, p.facts.config.Dreamer.UserMemories.PromotionThreshold
	return out
}

// compartmentsOf returns the compartments of a result in the form in which the store keeps them. It adds the sizes of
// their raw messages, and sets AfterSummary.
func compartmentsOf(r historian.Result, raw []historian.Message, afterSummary string) []chronicle.Compartment {
	sizes := make(map[int]int, len(raw))
	for _, m := range raw {
		sizes[m.Ordinal] = m.Tokens()
	}
	made := slices.Clone(r.Compartments)
	for i := range made {
		c := &made[i]
		c.AfterSummary = afterSummary
		for n := c.Start; n <= c.End; n++ {
			c.RawTokens += sizes[n]
		}
	}
	return made
}

func runRow(p *run, r historian.Result) work.RunRow {
	return work.RunRow{
		Kind: cmp.Or(p.kind, KindIncremental), Status: work.Success, Reason: string(p.reason), Pass: p.facts.pass, Model: r.Model,
		Usage:             work.Usage(r.Usage()),
		UnconfirmedQuotes: r.Unconfirmed.Quotes, UnconfirmedFacts: r.Unconfirmed.Facts(),
		StartedAt: p.started, Start: p.job.Chunk.Start, End: p.job.Chunk.End,
	}
}

// problemOf says in one sentence why the models' answers were rejected. Each reason appears once, after the
// models that gave it, for example "a/small, a/large: 401 unauthorized".
func problemOf(r historian.Result) string {
	var reasons []string
	models := make(map[string][]string) // the models that gave each reason
	for _, a := range r.Attempts {
		if a.Problem == "" {
			continue
		}
		if models[a.Problem] == nil {
			reasons = append(reasons, a.Problem)
		}
		if model := cmp.Or(a.Model, "the agent's own model"); !slices.Contains(models[a.Problem], model) {
			models[a.Problem] = append(models[a.Problem], model)
		}
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(models[reason], ", ") + ": " + reason
	}
	return strings.Join(reasons, "; ")
}

// The result of cost is in the catalogue's currency.
func cost(p schema.Price, r historian.Result) float64 {
	return model.Bill(p, r.Usage())
}
