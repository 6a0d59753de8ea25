package replay

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

const (
	// summaryTokens is the assumed size of a summary that the harness writes.
	summaryTokens = 1200
	// The harness summarises only 2,000 characters of a result. cutResult is this size in tokens.
	cutResult = 500
)

// An alone is a session as its harness would send it without magicctx, with the harness's own compaction.
type alone struct {
	of transcript.CompactionVocabulary
	// `compactions` counts the compactions so far. The newest one has replaced the first `from` messages with a
	// summary.
	compactions, from int
	biller            *biller
}

// request returns the usage of a request in a session that only the harness compacts. plain is the usage that the
// request would have if nothing were compacted. If the prompt does not fit into the window, the harness first asks a
// model for a summary. compaction is the usage of this extra request, or zero if there is none. unseen is the number of
// tokens in each prompt that the trace does not show.
func (a *alone) request(at int64, model string, r route.Route, p prompt, plain promptcache.Tokens, window, unseen int) (usage, compaction promptcache.Tokens) {
	if a.from >= len(p.messages) {
		a.compactions, a.from, a.biller = 0, 0, nil // the harness has taken back the messages and their summary
	}
	usage = plain
	if a.biller != nil {
		usage, _ = a.biller.request(at, model, r, a.prompt(p))
	}
	if window == 0 || usage.Prompt()+unseen <= window {
		return usage, compaction
	}
	kept := a.kept(p.messages, window)
	if kept <= a.from {
		return usage, compaction // there is nothing to summarise, so the prompt stays too long
	}
	text := a.summary()
	for i := a.from; i < kept; i++ {
		text += condensed(&p.messages[i])
	}
	if a.biller == nil {
		a.biller = newBiller()
		a.biller.request(at, model, r, prompt{system: p.system}) // the system prompt is cached already
	}
	a.compactions, a.from = a.compactions+1, kept
	// The request for a summary begins with another system prompt, so the provider has cached nothing of it.
	compaction = promptcache.Tokens{Fresh: text, Output: summaryTokens}
	usage, _ = a.biller.request(at, model, r, a.prompt(p))
	return usage, compaction
}

func (a *alone) summary() int {
	if a.compactions == 0 {
		return 0
	}
	return summaryTokens
}

func (a *alone) prompt(p prompt) prompt {
	summary := render.WireMessage{Key: fmt.Sprint("summary ", a.compactions), Role: transcript.User, Blocks: []render.Block{{Kind: render.TextBlock, Text: fmt.Sprint("summary ", a.compactions)}}}
	a.biller.sizes[summary.Hash()] = Sources{Text: summaryTokens}
	return prompt{system: p.system, messages: append([]render.WireMessage{summary}, p.messages[a.from:]...)}
}

// kept returns the index of the first message that is not summarised. The newest message always stays.
func (a *alone) kept(messages []render.WireMessage, window int) int {
	budget := min(max(window/4, a.of.LeastKept), a.of.MostKept)
	i := len(messages) - 1
	size := sourcesOf(&messages[i]).Total()
	for ; i > a.from; i-- {
		if size += sourcesOf(&messages[i-1]).Total(); size > budget {
			break
		}
	}
	return i
}

func condensed(m *render.WireMessage) (size int) {
	for i := range m.Blocks {
		part := sourcesOf(&render.WireMessage{Blocks: m.Blocks[i : i+1]})
		size += part.Text + part.Reasoning + part.Inputs + min(part.Results, cutResult)
	}
	return size
}

// An Alone is the bill of the harness without magicctx, with its own compaction.
type Alone struct {
	// Bill includes the requests for the summaries of the compactions.
	Bill        float64 `json:"bill"`
	Compactions int     `json:"compactions"`
}

func (p *player) billAlone(ses *session) {
	pass := ses.pending
	before := ses.alone.compactions
	usage, compaction := ses.alone.request(ses.at, ses.model, ses.route, prompt{system: ses.rawSystem, messages: ses.raws}, pass.Raw, pass.WindowTokens, p.recount.unseen)
	pass.Alone.Bill = promptcache.Bill(usage.Billed(ses.route.Cliff), p.price) + promptcache.Bill(compaction.Billed(ses.route.Cliff), p.price)
	if ses.alone.compactions > before {
		pass.Alone.Compactions = 1
	}
}
