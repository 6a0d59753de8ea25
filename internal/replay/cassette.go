package replay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A trace may come from anybody, so a cassette has limits. They are generous: a session of several months has a few
// thousand runs, and no shim can send an answer longer than one frame.
const (
	maxTakes       = 1 << 14
	maxAnswerBytes = schema.MaxBodyBytes
)

// A takeKey identifies a question by the agent, the model and the prompts. The run's name, title and time limit
// may differ.
type takeKey [sha256.Size]byte

func keyOf(params json.Value) (takeKey, error) {
	var p schema.AgentRunParams
	if err := json.Unmarshal(params, &p); err != nil {
		return takeKey{}, fmt.Errorf("question to a hidden agent: %w", err)
	}
	h := sha256.New()
	for _, part := range []string{p.Agent, p.Model, p.System, p.Prompt} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return takeKey(h.Sum(nil)), nil
}

// A take is a recorded question to a hidden agent, with its answer.
type take struct {
	// If the shim answered with an error, `failure` is the error's message.
	result  json.Value
	failure string
	// isWithdrawn means that the recorded host sent agent/abort for this run.
	isWithdrawn bool
	// `title` names the task of the run. `isAsked` is true after the replay's host has asked the question.
	title   string
	isAsked bool
	// The channel `due` is closed when the replay reaches the answer. If the trace ends first, it stays open.
	due chan struct{}
}

func (t *take) answer() (schema.AgentRunResult, error) {
	var r schema.AgentRunResult
	switch {
	case t.failure != "":
		return r, errors.New(t.failure)
	case len(t.result) > maxAnswerBytes:
		return r, fmt.Errorf("the recorded answer has %d bytes, at most %d", len(t.result), maxAnswerBytes)
	}
	if err := json.Unmarshal(t.result, &r); err != nil {
		return schema.AgentRunResult{}, fmt.Errorf("the recorded answer: %w", err)
	}
	// The recorded host aborted this run. A host aborts a run if a pass or a command needs it to end, or if the run's
	// time limit has passed. The host of this replay gets the same passes and commands, but it still waits for the
	// answer. So the reason was the time limit.
	if t.isWithdrawn && r.Failure.Reason != "" {
		r.Failure.Reason = "timeout"
	}
	return r, nil
}

// A cassette plays the recorded answers of hidden agents. If an answer came between two steps of the shim in the
// recording, the cassette releases it between the same two steps. So the history is published between the same two
// passes.
type cassette struct {
	mu sync.Mutex // guards all fields below
	// `takes` contains the recorded questions that the host has not asked yet. If a question was recorded several
	// times, its takes are in the recorded order.
	takes    map[takeKey][]*take
	recorded []*take
	// `working` is the number of the host's background jobs that are running and may ask a question. `waiting` contains
	// each question whose recorded answer is not due yet, with the context of its caller.
	working int
	waiting map[*take]context.Context
	// changed is closed and replaced whenever working or waiting changes.
	changed chan struct{}
	// missed lists the questions that the trace does not contain.
	asked  int
	missed []MissedRun
	// If the function `live` is not nil, it answers the questions, and the recorded answers are not used.
	live func(schema.AgentRunParams) schema.AgentRunResult
}

var _ agent.Cassette = (*cassette)(nil)

func newCassette() *cassette {
	return &cassette{takes: make(map[takeKey][]*take), waiting: make(map[*take]context.Context), changed: make(chan struct{})}
}

func (c *cassette) hasTakes() bool { return len(c.takes) > 0 }

func (c *cassette) canAnswer() bool { return c.live != nil || c.hasTakes() }

// stir wakes settle. The caller holds mu.
func (c *cassette) stir() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cassette) Begin() { c.work(1) }

func (c *cassette) End() { c.work(-1) }

func (c *cassette) work(change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working += change
	c.stir()
}

// errNotRecorded does not name the question. The host searches the text of an error for words that mean an overloaded
// provider, and the name of a question could contain such a word.
var errNotRecorded = errors.New("the trace does not hold this question")

// Run implements agent.Cassette. It waits until the replay reaches the recorded answer.
func (c *cassette) Run(ctx context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
	if c.live != nil {
		c.mu.Lock()
		c.asked++
		c.mu.Unlock()
		return c.live(p), nil
	}
	t, err := c.ask(ctx, p)
	if err != nil {
		return schema.AgentRunResult{}, err
	}
	select {
	case <-t.due:
		return t.answer()
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, t)
		c.stir()
		return schema.AgentRunResult{}, context.Cause(ctx)
	}
}

func (c *cassette) ask(ctx context.Context, p schema.AgentRunParams) (*take, error) {
	params, err := json.Marshal(p) // the trace holds encoded questions, and bytes that are not UTF-8 do not survive the encoding
	if err != nil {
		return nil, err
	}
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if len(c.takes[key]) == 0 {
		c.missed = append(c.missed, MissedRun{Session: p.Session, Agent: p.Agent, Model: p.Model, Title: p.Title, PromptBytes: len(p.System) + len(p.Prompt)})
		return nil, errNotRecorded
	}
	t := c.takes[key][0]
	c.takes[key] = c.takes[key][1:]
	t.isAsked = true
	select {
	case <-t.due:
	default:
		c.waiting[t] = ctx
		c.stir()
	}
	return t, nil
}

func (c *cassette) play(t *take) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, t)
	close(t.due)
}

// The method `settle` waits for the background jobs of the host. It returns when each of them has either ended, or is
// waiting for an answer that is not due yet.
func (c *cassette) settle(ctx context.Context) error {
	for {
		changed := c.untilQuiet()
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the historian: %w", context.Cause(ctx))
		}
	}
}

// untilQuiet returns nil if no background job can continue. Otherwise it returns a channel that is closed at the next
// change.
func (c *cassette) untilQuiet() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := 0
	for _, ctx := range c.waiting {
		if ctx.Err() == nil { // a withdrawn question is about to return, so it does not count as waiting
			waiting++
		}
	}
	if waiting == c.working {
		return nil
	}
	return c.changed
}

func (c *cassette) unasked() (all []*take) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.recorded {
		if !t.isAsked {
			all = append(all, t)
		}
	}
	return all
}

// newMissed returns the questions that the trace does not contain and that the host has asked since the last call of
// newMissed.
func (c *cassette) newMissed() []MissedRun {
	c.mu.Lock()
	defer c.mu.Unlock()
	missed := c.missed
	c.missed = nil
	return missed
}
