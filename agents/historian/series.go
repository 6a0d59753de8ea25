package historian

import (
	"context"
	"fmt"
	"slices"
)

// A SeriesJob is a range of messages to be summarised, chunk by chunk: for a recomp,
// which makes compartments anew, or for a wrap-up.
type SeriesJob struct {
	// Job is the pattern of each run. RunSeries sets its chunk, its messages and, behind
	// the first chunk, its references. No run leaves its last compartment to the next.
	Job Job
	// Range is what is summarised.
	Range Range
	// Budget is the size of a chunk in tokens.
	Budget int
}

// SeriesPorts are what a series needs of its surroundings.
type SeriesPorts struct {
	Ports
	// Chunk reads the messages of a range, from its start, as far as the budget
	// goes. A chunk without lines means that there are none.
	Chunk func(ctx context.Context, r Range, budgetTokens int) (Chunk, []Message, error)
	// Save stores the result of one chunk, which Chunk has read last. So a series
	// that was interrupted can go on behind it.
	Save func(ctx context.Context, done Result) error
}

// SeriesResult is how far a series came.
type SeriesResult struct {
	// Next is the first ordinal of the range that is not summarised.
	Next int
	// Problem says why the series ended ahead of the range's end. It is empty if
	// the range is complete.
	Problem string
	// Attempts are the questions of all runs.
	Attempts []Attempt
}

// RunSeries runs the historian over a range, chunk by chunk. It writes no
// extractive compartments: nothing forces the user to take a poor summary. If no
// model gives a valid answer, it tries again with half the budget, because a
// shorter chunk is easier. If that is no way out, it stops there. Its error is that
// of a port, or of the end of ctx; what was saved stays saved.
func RunSeries(ctx context.Context, j SeriesJob, p SeriesPorts) (SeriesResult, error) {
	r := series{job: &j, ports: &p, budget: j.Budget, failedAt: j.Range.End + 1, references: j.Job.References}
	r.done.Next = j.Range.Start
	for r.done.Next <= j.Range.End && r.done.Problem == "" {
		if err := r.step(ctx); err != nil {
			return r.done, err
		}
	}
	return r.done, nil
}

// A series is the state of one RunSeries.
type series struct {
	job        *SeriesJob
	ports      *SeriesPorts
	done       SeriesResult
	references []Reference
	budget     int
	// failedAt is the last ordinal of the chunk that failed at done.Next. The next
	// chunk there must be shorter.
	failedAt int
}

// step summarises one chunk, makes the next one shorter, or sets the problem.
func (r *series) step(ctx context.Context) error {
	job := r.job.Job
	job.KeepLast, job.References = true, r.references
	var err error
	if job.Chunk, job.Raw, err = r.ports.Chunk(ctx, Range{r.done.Next, r.job.Range.End}, r.budget); err != nil {
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
func (r *series) shorten(failed *run) {
	smaller, ok := HalveBudget(r.budget)
	if !ok || !shorterMayHelp(failed.attempts) {
		r.done.Problem = failed.attempts[len(failed.attempts)-1].Problem
		return
	}
	r.budget, r.failedAt = smaller, failed.job.Chunk.End
}

func (r *series) save(ctx context.Context, res Result) error {
	if err := r.ports.Save(ctx, res); err != nil {
		return fmt.Errorf("save the compartments up to %d: %w", res.Next-1, err)
	}
	r.done.Next, r.budget, r.failedAt = res.Next, r.job.Budget, r.job.Range.End+1
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

func referencesTo(done []Compartment) []Reference {
	var all []Reference
	for _, c := range done {
		all = append(all, Reference{Range: c.Range, Title: c.Title, Episode: c.Episode, Importance: c.Importance, Tiers: c.Tiers})
	}
	return all
}
