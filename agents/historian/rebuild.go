package historian

import (
	"context"
	"fmt"
	"slices"

	"github.com/magicctx/magicctx-host/agents/ask"
)

// A Rebuilding makes the compartments of a range anew, chunk by chunk.
type Rebuilding struct {
	// Job is the pattern of each run. Its chunk, messages and references are set
	// by Rebuild. It takes no facts: the messages have given theirs before.
	Job Job
	// Range is what is rebuilt.
	Range Range
	// Budget is the size of a chunk in tokens.
	Budget int
}

// RebuildPorts are what a rebuilding needs of its surroundings.
type RebuildPorts struct {
	Ports
	// Chunk reads the messages of a range, from its start, as far as the budget
	// goes. A chunk without lines means that there are none.
	Chunk func(ctx context.Context, r Range, budgetTokens int) (Chunk, []Message, error)
	// Save stages the compartments of one chunk, so that a rebuilding that was
	// interrupted can go on behind them.
	Save func(ctx context.Context, done []Compartment) error
}

// Rebuilt is how far a rebuilding came.
type Rebuilt struct {
	Compartments []Compartment
	// Next is the first ordinal that is not rebuilt.
	Next int
	// Problem says why the rebuilding ended ahead of the range's end. It is empty
	// if the range is complete.
	Problem  string
	Attempts []Attempt
}

// Rebuild runs the historian over a range that has compartments already. Those
// are better than extractive ones, so Rebuild writes none: if no model gives a
// valid answer, it tries again with half the budget, because a shorter chunk is
// easier. If that is no way out, it stops there. Its error is that of a port, or
// of the end of ctx; what was saved stays saved.
func Rebuild(ctx context.Context, b Rebuilding, p RebuildPorts) (Rebuilt, error) {
	r := rebuild{b: &b, ports: &p, budget: b.Budget, failedAt: b.Range.End + 1, references: b.Job.References}
	r.done.Next = b.Range.Start
	for r.done.Next <= b.Range.End && r.done.Problem == "" {
		if err := r.step(ctx); err != nil {
			return r.done, err
		}
	}
	return r.done, nil
}

// A rebuild is the state of one Rebuild.
type rebuild struct {
	b          *Rebuilding
	ports      *RebuildPorts
	done       Rebuilt
	references []Reference
	budget     int
	// failedAt is the last ordinal of the chunk that failed at done.Next. The next
	// chunk there must be shorter.
	failedAt int
}

// step rebuilds one chunk, makes the next one shorter, or sets the problem.
func (r *rebuild) step(ctx context.Context) error {
	job := r.b.Job
	job.WithoutFacts, job.KeepLast, job.References = true, true, r.references
	var err error
	if job.Chunk, job.Raw, err = r.ports.Chunk(ctx, Range{r.done.Next, r.b.Range.End}, r.budget); err != nil {
		return fmt.Errorf("read messages from %d on: %w", r.done.Next, err)
	}
	if len(job.Chunk.Lines) == 0 {
		r.done.Problem = fmt.Sprintf("there are no messages from %d on", r.done.Next)
		return nil
	}
	if job.Chunk.End >= r.failedAt {
		r.done.Problem = fmt.Sprintf("no shorter chunk can be read from %d on", r.done.Next)
		return nil
	}
	run, best, err := summarise(ctx, &job, r.ports.Ports)
	r.done.Attempts = append(r.done.Attempts, run.attempts...)
	switch {
	case err != nil:
		return err
	case best == nil:
		r.shorten(run)
		return nil
	}
	return r.save(ctx, run.result(best))
}

// shorten halves the budget, or sets the problem if that does not help.
func (r *rebuild) shorten(failed *run) {
	smaller, ok := HalveBudget(r.budget)
	if !ok || !failed.helpedBySmaller() {
		r.done.Problem = failed.attempts[len(failed.attempts)-1].Problem
		return
	}
	r.budget, r.failedAt = smaller, failed.job.Chunk.End
}

func (r *rebuild) save(ctx context.Context, res Result) error {
	if err := r.ports.Save(ctx, res.Compartments); err != nil {
		return fmt.Errorf("save the compartments up to %d: %w", res.Next-1, err)
	}
	r.done.Compartments = append(r.done.Compartments, res.Compartments...)
	r.done.Next, r.budget, r.failedAt = res.Next, r.b.Budget, r.b.Range.End+1
	r.references = append(slices.Clip(r.references), referencesTo(res.Compartments)...)
	return nil
}

// minBudget is the smallest budget of a chunk, in tokens.
const minBudget = 20

// HalveBudget returns half the budget of a chunk, and false if that is no smaller
// one.
func HalveBudget(budget int) (int, bool) {
	half := max(minBudget, budget/2)
	return half, half < budget
}

// helpedBySmaller reports whether a shorter chunk may do better: after an invalid
// answer, a timeout or a prompt that was too long. A wrong key stays wrong.
func (r *run) helpedBySmaller() bool {
	for _, a := range r.attempts {
		if a.Kind == "" || a.Kind == ask.TimedOut || a.Kind == ask.Overflow {
			return true
		}
	}
	return false
}

func referencesTo(done []Compartment) []Reference {
	var all []Reference
	for _, c := range done {
		all = append(all, Reference{Range: c.Range, Title: c.Title, Episode: c.Episode, Importance: c.Importance, Tiers: c.Tiers})
	}
	return all
}
