package dream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/dreamer"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/store/memories"
)

// An account is the progress of a run of the dreamer. The store keeps it until the run ends. If the host ends during
// the run, the next host continues with the same task.
type account struct {
	StartedAt int64 // Unix ms
	IsManual  bool
	// Done lists the finished tasks. Tries counts how often the next task has begun.
	Done  []string
	Tries int
	// Number identifies the run in the command "memory restore --run N". It is 0 until the run's first change.
	Number int
	// Rejected is the number of changes that break a rule. The other fields count memories. For example, if the run
	// replaced 5 memories by 2, Merged is 5 and Into is 2.
	Merged, Into, Updated, Archived, Improved, Split, Rejected int
	Problems                                                   []string
	// Proposed is the number of corrections of documents that the run proposes. Patch is the file that contains them.
	Proposed int
	Patch    string
	Model    string
	Usage    ask.Usage
}

func (a account) text() string {
	data, _ := json.Marshal(a) // numbers and texts always have a form in JSON
	return string(data)
}

func accountOf(text string) (a account, err error) {
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return account{}, fmt.Errorf("read an unfinished run of the dreamer: %w", err)
	}
	return a, nil
}

func (a account) next(tasks []dreamer.Task) (t dreamer.Task, number int, found bool) {
	i := slices.IndexFunc(tasks, func(t dreamer.Task) bool { return !slices.Contains(a.Done, t.Name) })
	if i < 0 {
		return dreamer.Task{}, 0, false
	}
	return tasks[i], i + 1, true
}

func (a account) after(task string, number int, made []memories.Tended) account {
	a.Done, a.Tries = append(slices.Clone(a.Done), task), 0
	for _, c := range made {
		a.Number = number
		switch {
		case c.Content == "":
			a.Archived += len(c.Old)
		case len(c.More) > 0:
			a.Split++
		case len(c.Old) > 1:
			a.Merged, a.Into = a.Merged+len(c.Old), a.Into+1
		case task == dreamer.Improve:
			a.Improved++
		default:
			a.Updated++
		}
	}
	return a
}

func (a account) changed() int { return a.Into + a.Updated + a.Archived + a.Improved + a.Split }

func (a account) report(directory string) string {
	var done []string
	if a.Into > 0 {
		done = append(done, fmt.Sprintf("made %s out of %d", format.Count(a.Into, "memory"), a.Merged))
	}
	for _, of := range []struct {
		verb string
		n    int
	}{{"corrected", a.Updated}, {"archived", a.Archived}, {"rewritten", a.Improved}, {"split", a.Split}} {
		if of.n > 0 {
			done = append(done, of.verb+" "+format.Count(of.n, "memory"))
		}
	}
	sentences := []string{"The dreamer has changed nothing."}
	if len(done) > 0 {
		sentences = []string{fmt.Sprintf("The dreamer has %[1]s. %[2]s memory list --run %[3]d --project %[4]s shows the changes, and %[2]s memory restore --run %[3]d --project %[4]s undoes them.", strings.Join(done, ", "), program.Name(), a.Number, program.Quote(directory))}
	}
	if a.Proposed > 0 {
		sentences = append(sentences, fmt.Sprintf("It proposes %s of the project's documents: git -C %s apply %s makes them.",
			format.Count(a.Proposed, "correction"), program.Quote(directory), program.Quote(a.Patch)))
	}
	if a.Rejected > 0 {
		sentences = append(sentences, fmt.Sprintf("It has rejected %s that broke its rules.", format.Count(a.Rejected, "change")))
	}
	for _, p := range a.Problems {
		sentences = append(sentences, strings.ToUpper(p[:1])+p[1:]+".")
	}
	return strings.Join(sentences, " ")
}
