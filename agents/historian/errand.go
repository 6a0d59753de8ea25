package historian

import (
	"context"
	"fmt"
	"slices"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// An Errand is a range of messages to summarise, chunk by chunk, for a recomp or a wrap-up.
type Errand struct {
	// Job has the settings for all runs of the errand. RunErrand itself sets Chunk, Raw and KeepLast for each run, and
	// References for each run after the first.
	Job   Job
	Range chronicle.Range
	// Budget is the size of a chunk in tokens.
	Budget int
}

type ErrandPorts struct {
	Ports
	// Chunk reads as many messages from the start of r as fit into the budget. If there are no messages, the chunk has
	// no lines.
	Chunk func(ctx context.Context, r chronicle.Range, budgetTokens int) (Chunk, []Message, error)
	// Save stores the result of one chunk, so that an interrupted errand can continue.
	Save func(ctx context.Context, done Result) error
}

// ErrandResult says how far an errand has come.
type ErrandResult struct {
	// Next is the first ordinal that is not summarised yet.
	Next int
	// Problem says why the errand ended early, or is "".
	Problem string
	// Attempts are the questions of all runs.
	Attempts []Attempt
}

// RunErrand summarises a range of messages, chunk by chunk. If no model gives a valid answer, RunErrand halves the
// budget and tries a shorter chunk. If a shorter chunk cannot help, it stops. It never writes extractive compartments,
// because such poor summaries are justified only in an emergency. If a port fails or ctx ends, RunErrand returns an
// error. The results of earlier chunks stay saved.
func RunErrand(ctx context.Context, j Errand, p ErrandPorts) (ErrandResult, error) {
	r := progress{job: &j, ports: &p, budget: j.Budget, failedAt: j.Range.End + 1, references: j.Job.References}
	r.done.Next = j.Range.Start
	for r.done.Next <= j.Range.End && r.done.Problem == "" {
		if err := r.step(ctx); err != nil {
			return r.done, err
		}
	}
	return r.done, nil
}

type progress struct {
	job        *Errand
	ports      *ErrandPorts
	done       ErrandResult
	references []chronicle.Compartment
	budget     int
	// failedAt is the end of the last chunk that failed since the last success. If none has failed, it is the first
	// ordinal after the range. The next chunk must end before failedAt.
	failedAt int
}

// The method `step` summarises one chunk. If no answer is valid, it either makes the next chunk shorter or ends the
// errand by setting its problem.
func (r *progress) step(ctx context.Context) error {
	job := r.job.Job
	job.KeepLast, job.References = true, r.references
	chunk, raw, err := r.ports.Chunk(ctx, chronicle.Range{Start: r.done.Next, End: r.job.Range.End}, r.budget)
	if err != nil {
		return fmt.Errorf("read messages from %d on: %w", r.done.Next, err)
	}
	job.Chunk, job.Raw = chunk, func() []Message { return raw }
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

// If a smaller budget cannot help, shorten sets the problem.
func (r *progress) shorten(failed *run) {
	smaller, ok := HalveBudget(r.budget)
	if !ok || !shorterMayHelp(failed.attempts) {
		r.done.Problem = failed.attempts[len(failed.attempts)-1].Problem
		return
	}
	r.budget, r.failedAt = smaller, failed.job.Chunk.End
}

func (r *progress) save(ctx context.Context, res Result) error {
	if err := r.ports.Save(ctx, res); err != nil {
		return fmt.Errorf("save the compartments up to %d: %w", res.Next-1, err)
	}
	r.done.Next, r.budget, r.failedAt = res.Next, r.job.Budget, r.job.Range.End+1
	r.references = append(slices.Clip(r.references), res.Compartments...)
	return nil
}

// minBudget is the smallest budget of a chunk, in tokens.
const minBudget = 20

// HalveBudget returns half the budget of a chunk, but at least minBudget. If the budget cannot become smaller, the
// second result is false.
func HalveBudget(budget int) (int, bool) {
	half := max(minBudget, budget/2)
	return half, half < budget
}
