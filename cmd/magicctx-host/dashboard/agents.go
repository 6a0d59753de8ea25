package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

// maxRuns bounds the runs on the page of the agents.
const maxRuns = 100

// All texts of a run are safe to show.
type agentsPage struct {
	Runs  []run            `json:"runs"`
	Notes []chronicle.Note `json:"notes"`
}

type run struct {
	At     int64  `json:"at"` // Unix ms
	Took   string `json:"took"`
	Agent  string `json:"agent"`
	Task   string `json:"task"`
	Of     string `json:"of"` // the session or the directory
	Result string `json:"result"`
	Report string `json:"report"`
	Model  string `json:"model"`
	Tokens string `json:"tokens"`
	Money  string `json:"money"`
	// Undoes is the number of the run for POST /api/undo, which takes back what the run changed in the memories. It is
	// 0 if there is nothing to take back.
	Undoes  int    `json:"undoes"`
	Project string `json:"project"`
}

var tasks = map[string]string{
	"incremental": "summarise new messages", "recomp": "write all summaries again", "partial": "write some summaries again", "wrapup": "summarise nearly everything",
}

var results = map[string]string{work.Success: "done", work.Failed: "failed", work.Noop: "nothing to do"}

func (p *pages) agents(r *http.Request) (agentsPage, error) {
	out := agentsPage{Runs: []run{}, Notes: []chronicle.Note{}}
	err := memories.View(r.Context(), p.Dir, func(r *memories.Reader) error {
		runs, err := r.Runs(maxRuns)
		for _, r := range runs {
			out.Runs = append(out.Runs, newRun(r))
		}
		if err == nil {
			out.Notes, err = r.AllNotes(true)
		}
		return err
	})
	if errors.Is(err, store.ErrMissing) {
		err = nil
	}
	return out, err
}

func newRun(r chronicle.Run) run {
	out := run{
		At: r.StartedAt, Took: format.Span(time.Duration(r.EndedAt-r.StartedAt) * time.Millisecond), Agent: format.Clean(r.Agent), Task: cmp.Or(tasks[r.Kind], format.Clean(r.Kind)),
		Of: format.Clean(cmp.Or(r.Title, r.Session, r.Directory, r.Project)), Result: cmp.Or(results[r.Status], format.Clean(r.Status)),
		Report: format.Clean(r.Reason), Tokens: format.Tokens(r.Tokens), Money: "price unknown", Model: format.Clean(r.Model), Undoes: r.Undoes, Project: r.Project,
	}
	if r.Cost != nil {
		out.Money = format.Money(float64(*r.Cost) / chronicle.Dollar)
	}
	if r.Agent == work.Historian && r.Status == work.Success { // Reason is only a code for the trigger of the run
		out.Report = fmt.Sprintf("messages %d-%d, %s, keeps %s of the details", r.Start, r.End, format.Count(r.Produced, "summary"), format.Percent(r.Fidelity))
	}
	return out
}

func (p *pages) undo(r *http.Request) (restored []chronicle.Memory, err error) {
	var of struct {
		Project string `json:"project"`
		Run     int    `json:"run"`
	}
	if err := json.UnmarshalRead(r.Body, &of); err != nil {
		return nil, fmt.Errorf("read the number of the run: %w", err)
	}
	restored = []chronicle.Memory{}
	err = memories.Edit(r.Context(), p.Dir, time.Now().UnixMilli(), func(e *memories.Editor) error {
		all, err := e.Undo(of.Project, of.Run)
		restored = append(restored, all...)
		return err
	})
	return restored, err
}

func (p *pages) close(r *http.Request) (id int64, err error) {
	var note struct {
		ID     int64 `json:"id"`
		IsDone bool  `json:"isDone"`
	}
	if err := json.UnmarshalRead(r.Body, &note); err != nil {
		return 0, fmt.Errorf("read the number of the note: %w", err)
	}
	return note.ID, memories.Edit(r.Context(), p.Dir, time.Now().UnixMilli(), func(e *memories.Editor) error { return e.SetDone(note.ID, note.IsDone) })
}
