package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/sidekick"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// A sidekickRun chooses what the host attaches to the user's next message. If the message comes before the run has
// chosen, or if the run fails, the host attaches the hits of the first search. So the message never has to wait.
type sidekickRun struct {
	*Tools
	client    client.Client
	session   store.Key
	directory string
	cfg       schema.Config
	words     string
	query     search.Query // its text is the user's words
	first     []search.Hit // of this query
	budget    int          // tokens of the findings
	models    []string

	// ctx ends when the message has come, or when the user has cancelled the run or begun another run.
	ctx context.Context
	end context.CancelFunc
	// earlier is the session's previous run, if it has not ended yet.
	earlier *sidekickRun
	done    chan struct{}
	status  schema.SidekickStatus // guarded by mu
	hits    []search.Hit          // shown to the sidekick's model
}

func (r *sidekickRun) prepare(model string) {
	if r.models = ask.Models(append([]string{r.cfg.Sidekick.Model}, r.cfg.Sidekick.FallbackModels...)...); len(r.models) == 0 {
		r.models = []string{model}
	}
	r.ctx, r.end = context.WithCancel(r.Background.Lifetime())
	r.done = make(chan struct{})
	r.status.Since = r.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.earlier, r.sidekicks[r.session] = r.sidekicks[r.session], r
}

func (r *sidekickRun) start() {
	r.Agents.Go(func() {
		defer func() {
			r.end()
			close(r.done)
			r.mu.Lock()
			if r.sidekicks[r.session] == r {
				delete(r.sidekicks, r.session)
			}
			r.mu.Unlock()
			r.Statuses.Publish(r.session)
		}()
		if r.earlier != nil {
			<-r.earlier.done // its context has ended, so it soon releases its lease
			r.earlier = nil
		}
		r.carryOut()
	})
}

// Sidekick describes the sidekick's work for a session, or returns nil.
func (t *Tools) Sidekick(key store.Key) *schema.SidekickStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.sidekicks[key]
	if r == nil {
		return nil
	}
	st := r.status
	return &st
}

// finishTimeout limits the write to the database at the end of a run. It is long, because nobody waits for this write.
const finishTimeout = 30 * time.Second

func (r *sidekickRun) carryOut() {
	lease := agent.Lease{
		Store: r.Store, Holder: r.Agents.NewHolder(),
		Work: work.Work{Agent: work.Sidekick, Subject: work.Subject{Harness: r.session.Harness, Session: r.session.Session}},
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), time.Duration(r.cfg.Sidekick.TimeoutMS)*time.Millisecond+finishTimeout)
	defer cancel()
	if acquired, err := lease.Acquire(writing); err != nil || !acquired {
		r.Log.Warn("the sidekick has not started", "session", r.session.Session, "error", err)
		r.tell("warning", "The sidekick could not begin. "+r.stays(), nil)
		return
	}
	keeping, stop := context.WithCancel(writing)
	r.Background.Go(func() { lease.Keep(keeping, r.end) })
	result, err := r.ask(lease)
	stop()
	variant, text, isAttached := "", "", false
	if err == nil {
		isAttached, err = r.attachResult(writing, &result)
	}
	row := work.RunRow{Status: work.Noop, StartedAt: r.status.Since, Model: result.Model, Usage: work.Usage(result.Usage), Holder: lease.Holder}
	var findings []string
	switch {
	case err == nil && !isAttached, ask.Classify(err) == ask.Aborted: // the message came first, or the user cancelled the run
		row.Reason = "The sidekick was ended: the message was sent before, or the run was cancelled."
	case err != nil:
		row.Status = work.Failed
		variant, text = "warning", "The sidekick has failed: "+format.Shorten(format.Clean(err.Error()), maxCause)+". "+r.stays()
		row.Reason = text
		r.Log.Warn("the sidekick has failed", "session", r.session.Session, "error", err)
	case len(result.Findings) == 0:
		variant, text = "info", "The sidekick has found nothing that helps. Your next message goes alone."
		row.Reason = text
	default:
		for _, f := range result.Findings {
			findings = append(findings, f.Text)
		}
		row.Status, row.Findings = work.Success, len(findings)
		row.Reason = fmt.Sprintf("The sidekick has given %s of %s to a message.", format.Count(len(findings), "finding"), format.Count(len(r.hits), "search result"))
		variant, text = "success", fmt.Sprintf("With your next message, the model gets %s, which the sidekick has chosen. /ctx-aug cancel gives it none.", format.Count(len(findings), "finding"))
	}
	for _, why := range result.Rejected {
		r.Log.Info("the sidekick's finding is left out", "session", r.session.Session, "cause", why)
	}
	if err := errors.Join(r.Store.Runs.Record(writing, lease.Work, row, 0), lease.Release(writing)); err != nil {
		r.Log.Warn("a run of the sidekick is not recorded", "session", r.session.Session, "error", err)
	}
	if text != "" {
		r.tell(variant, text, findings)
	}
}

// maxCause bounds the reason in a notice, in bytes.
const maxCause = 300

func (r *sidekickRun) stays() string {
	if len(r.first) == 0 {
		return "Your next message goes alone."
	}
	return "The model gets what the first search has found."
}

func (r *sidekickRun) tell(variant, text string, findings []string) {
	r.Notices.Show(r.client, r.session, r.directory, variant, told(text, findings))
}

func (r *sidekickRun) ask(lease agent.Lease) (sidekick.Result, error) {
	asker := agent.Asker{
		Runner: r.Agents, Harness: schema.Harness(r.session.Harness), Client: r.client, Directory: r.directory, Session: r.session.Session,
		Title: "findings for a message", Lease: lease,
	}
	return sidekick.Run(r.ctx, asker, sidekick.Job{
		Words: r.words, Wishes: r.cfg.Sidekick.SystemPrompt, Models: r.models, Search: r.searches,
		Timeout: time.Duration(r.cfg.Sidekick.TimeoutMS) * time.Millisecond,
		Progress: func(results int, used ask.Usage) {
			r.mu.Lock()
			r.status.Results, r.status.Tokens = results, used.Input+used.Output+used.CacheRead+used.CacheWrite
			r.mu.Unlock()
			r.Statuses.Publish(r.session)
		},
	})
}

const maxOffered = 15

// searches takes the best hit of the user's words and of each query, then the second-best hit of each, and so on. It
// returns at most maxOffered hits, without repetitions.
func (r *sidekickRun) searches(ctx context.Context, queries []string) (offered []sidekick.Hit, err error) {
	lists := [][]search.Hit{r.first}
	for _, query := range queries {
		q := r.query
		q.Text = query
		hits, err := r.helpful(ctx, q)
		if err != nil && !errors.Is(err, search.ErrNoWords) {
			return nil, err
		}
		lists = append(lists, hits)
	}
	r.hits = nil
	known := make(map[string]bool)
	for i := range augmentHits {
		for _, hits := range lists {
			if i >= len(hits) || len(r.hits) == maxOffered || known[hits[i].Text] {
				continue
			}
			known[hits[i].Text] = true
			r.hits = append(r.hits, hits[i])
			offered = append(offered, sidekick.Hit{About: hitPlace(&hits[i], r.session), Text: hits[i].Text})
		}
	}
	return offered, nil
}

// attachResult attaches the findings in place of the hits of the first search. If the message has already come,
// attachResult does nothing.
func (r *sidekickRun) attachResult(ctx context.Context, result *sidekick.Result) (isAttached bool, err error) {
	s, err := r.Sessions.Lock(ctx, r.session)
	if err != nil {
		return false, err
	}
	defer s.Unlock()
	if r.ctx.Err() != nil {
		return false, nil
	}
	shown, page := r.page(result.Findings)
	result.Findings = result.Findings[:shown]
	r.Attach(s, page, nil)
	return true, nil
}

func (r *sidekickRun) page(findings []sidekick.Finding) (shown int, page string) {
	var b strings.Builder
	budget := r.budget
	for i, f := range findings {
		text := fmt.Sprintf("%d. %s:\n%s%s\n", i+1, hitPlace(&r.hits[f.Hit], r.session), rawhistory.Indentation, rawhistory.Indent(f.Text))
		if budget -= tokens.Count(text); budget < 0 {
			break
		}
		b.WriteString(text)
		shown++
	}
	if shown == 0 {
		return 0, ""
	}
	return shown, foundPage("What a model has found in parts of earlier messages", b.String())
}
