package replay

import (
	"cmp"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

type recordedRuns struct {
	trace *trace
	takes int
	// `asked` maps the id of a request to its question, until the question is answered. `named` maps the name of a run
	// to its newest question, even after the answer.
	asked, named map[string]*take
}

func newRecordedRuns(t *trace) *recordedRuns {
	return &recordedRuns{trace: t, asked: make(map[string]*take), named: make(map[string]*take)}
}

func (r *recordedRuns) read(frame rpc.TraceFrame, m *message) bool {
	switch {
	case frame.From == rpc.FromHost && m.Method == schema.MethodAgentRun && m.ID != nil:
		r.ask(m)
	case frame.From == rpc.FromHost && m.Method == schema.MethodAgentAbort:
		var p schema.AgentAbortParams
		_ = json.Unmarshal(m.Params, &p) // if the params cannot be read, p names no run
		if t := r.named[p.Run]; t != nil {
			t.isWithdrawn = true
		}
	case frame.From == rpc.FromShim && m.Method == "" && r.asked[string(m.ID)] != nil:
		r.answer(frame.At, m)
	default:
		return false
	}
	return true
}

// ask records a question. It ignores a question that it cannot read, and every question after the first maxTakes. To
// the replay, an ignored question looks as if it had not been recorded.
func (r *recordedRuns) ask(m *message) {
	var p schema.AgentRunParams
	key, err := keyOf(m.Params)
	if err != nil || json.Unmarshal(m.Params, &p) != nil || r.takes == maxTakes {
		return
	}
	r.takes++
	t := &take{due: make(chan struct{}), title: p.Title}
	c := r.trace.cassette
	c.takes[key], c.recorded = append(c.takes[key], t), append(c.recorded, t)
	r.asked[string(m.ID)], r.named[p.Run] = t, t
}

func (r *recordedRuns) answer(at int64, m *message) {
	t := r.asked[string(m.ID)]
	delete(r.asked, string(m.ID))
	t.result = m.Result
	if m.Error != nil {
		t.failure = failureOf(m.Error)
	}
	r.trace.steps = append(r.trace.steps, step{at: at, take: t})
}

func failureOf(recorded json.Value) string {
	var e struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(recorded, &e) // an error in another form has no message
	return cmp.Or(e.Message, "the shim could not run the agent")
}

func (p *player) noteRuns() {
	for _, missed := range p.trace.cassette.newMissed() {
		missed.Pass = len(p.report.Passes)
		p.report.MissedRuns = append(p.report.MissedRuns, missed)
	}
}

// lackRuns reports that the replayed host and the recorded host have asked hidden agents different questions. It
// reports the new questions, because the trace has no answers to them. If there are none, and the settings are the
// recorded ones, it reports the recorded questions that the replayed host has not asked. Without their answers, the
// replay lacks summaries.
func (p *player) lackRuns() {
	p.report.AskedRuns = p.trace.cassette.asked
	missed, unasked := p.report.MissedRuns, p.trace.cassette.unasked()
	switch {
	case len(missed) > 0:
		first := missed[0]
		model := ""
		if first.Model != "" {
			model = " with " + first.Model
		}
		p.lacks("the answers to %d of %s to hidden agents. The first is asked after request %d: %s%s, %q of session %s, with a prompt of %s. "+
			"One reason can be that other sessions were used at the same time: from them, too, the host learns, for example how many tokens the provider counts, and a trace does not show them",
			len(missed), format.Count(p.report.AskedRuns, "question"), first.Pass, first.Agent, model, first.Title, first.Session,
			format.Count(first.PromptBytes, "byte"))
	case len(unasked) > 0 && p.overrides.areNone():
		p.lacks("the cause of %d of %s to hidden agents: only the session asked them, so the replay has no answers to them. The first is %q. "+
			"One reason can be that the harness has compacted the session: then the host reads older messages in the harness's store, and a trace does not hold them",
			len(unasked), format.Count(len(p.trace.cassette.recorded), "question"), unasked[0].title)
	}
}
