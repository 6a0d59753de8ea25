package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/memories"
)

// menuName is the command that opens dialogs, in which the user makes one choice after another. The arguments name the
// page to show, for example "memory 12".
const menuName = "ctx-menu"

var menuCommand = command{
	menuName, "Everything else: summaries, search, memories, what was taken out of the prompt",
	func(t *Tools, ctx context.Context, _ client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
		return t.menu(ctx, key, p)
	},
}

// maxChoice and maxPage limit the length of a choice and of a page, in bytes. maxChoices limits the number of choices
// on a page.
const (
	maxChoice  = 120
	maxPage    = 8 << 10
	maxChoices = 15
)

func (t *Tools) menu(ctx context.Context, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
	place, rest, _ := strings.Cut(strings.TrimSpace(p.Arguments), " ")
	rest = strings.TrimSpace(rest)
	switch place {
	case "":
		return t.mainPage(ctx, key)
	case "memories":
		return t.memoriesPage(ctx, key, p.Directory)
	case "memory":
		return t.memoryPage(ctx, key, p.Directory, rest)
	case "search":
		return t.searchPage(ctx, key, p.Directory, rest)
	case "message":
		return t.messagePage(ctx, key, p.Directory, rest)
	case "taken":
		return t.takenPage(ctx, key, rest)
	case "summaries":
		return t.summariesPage(ctx, key, rest)
	case "summary":
		return t.summaryPage(ctx, key, rest)
	}
	return warn("There is no %q in /%s. Without a word it shows what there is.", place, menuName), nil
}

var mainChoices = []schema.Choice{
	{Label: "Status", About: "how full, what is in it, what it costs", Command: statusCommand.name},
	{Label: "What was taken out of the prompt", Command: menuName, Arguments: "taken"},
	{Label: "Memories of this project", Command: menuName, Arguments: "memories"},
	{Label: "Search earlier messages", Command: menuName, Arguments: "search", Ask: "Words to look for"},
	{Label: "Free space with the next request", Command: flushCommand.name, Confirm: "What the model has marked goes, and the provider reads the rest of the prompt again."},
	{Label: "Summarise all but the newest turns", Command: summary.CommandWrapUp, Confirm: "The historian summarises everything but the newest turns. That asks a model."},
	{Label: "Make all summaries again", Command: summary.CommandRecomp, Confirm: "The historian reads all summarised messages again. That asks a model, and may take minutes."},
	{Label: "Cancel the new summaries", Command: summary.CommandRecomp, Arguments: "cancel"},
	{Label: "Cancel the summary of all but the newest turns", Command: summary.CommandWrapUp, Arguments: "cancel"},
}

// mainPage offers to cancel a wrap-up only while it runs. It offers to cancel a recomp while it runs, and also
// while it waits to be continued.
func (t *Tools) mainPage(ctx context.Context, key store.Key) (schema.CommandExecuteResult, error) {
	staged, _, err := t.Store.History.Staged(ctx, key)
	running, isRecomp, isWrapUp := t.History.Running(key), len(staged.Compartments) > 0, false
	if running != nil {
		isWrapUp = running.Kind == summary.KindWrapUp
		isRecomp = isRecomp || !isWrapUp
	}
	return pageOf("magicctx", "", slices.DeleteFunc(slices.Clone(mainChoices), func(choice schema.Choice) bool {
		return choice.Arguments == "cancel" && (choice.Command == summary.CommandWrapUp && !isWrapUp || choice.Command == summary.CommandRecomp && !isRecomp)
	})...), err
}

// pageOf makes a page of choices. For a harness without dialogs, it also makes a message that says how to make each
// choice. The caller must have cleaned `text`. pageOf cleans those parts of the choices that may come from a database.
func pageOf(title, text string, choices ...schema.Choice) schema.CommandExecuteResult {
	message, choices := text, append([]schema.Choice{}, choices...)
	for i := range choices {
		one := &choices[i]
		one.Label, one.About = format.Clean(one.Label), format.Clean(one.About)
		one.Arguments, one.Value = format.Clean(one.Arguments), format.CleanLines(one.Value)
		line := strings.TrimSpace("/" + one.Command + " " + one.Arguments)
		if one.Ask != "" {
			line += " …"
		}
		message += "\n" + line + ": " + one.Label
	}
	return schema.CommandExecuteResult{
		Title: title, Message: strings.TrimPrefix(message, "\n"), Variant: "info", Stays: true, Page: &schema.Page{Text: text, Choices: choices},
	}
}

func warn(text string, args ...any) schema.CommandExecuteResult {
	return schema.CommandExecuteResult{Title: "magicctx", Variant: "warning", Message: fmt.Sprintf(text, args...)}
}

// The memories that wait for the user's review come first.
func (t *Tools) memoriesPage(ctx context.Context, key store.Key, directory string) (schema.CommandExecuteResult, error) {
	var all []chronicle.Memory
	err := t.edit(ctx, key, directory, func(e *memories.Editor, project string) (err error) {
		all, err = e.Reader().All(project, true, t.Clock.Now())
		return err
	})
	if err != nil {
		return t.failed(err)
	}
	order := []chronicle.MemoryStatus{chronicle.MemoryIsProposed, chronicle.MemoryIsActive, chronicle.MemoryIsArchived, chronicle.MemoryIsSuperseded}
	slices.SortStableFunc(all, func(a, b chronicle.Memory) int {
		return cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status))
	})
	var choices []schema.Choice
	for _, m := range all[:min(len(all), maxChoices)] {
		label := fmt.Sprintf("%d. %s", m.ID, shortened(m.Content))
		if m.Status != chronicle.MemoryIsActive {
			label = fmt.Sprintf("%d. (%s) %s", m.ID, m.Status, shortened(m.Content))
		}
		choices = append(choices, schema.Choice{Label: label, Command: menuName, Arguments: fmt.Sprintf("memory %d", m.ID)})
	}
	text := "magicctx remembers nothing about this project yet."
	if len(all) > 0 {
		text = format.Count(len(all), "memory") + " of this project"
	}
	if more := len(all) - len(choices); more > 0 {
		text += fmt.Sprintf("; %d more are in magicctx-host memory list", more)
	}
	return pageOf("Memories", text, choices...), nil
}

// memoryPage shows a memory, or changes it: "12", "12 archive", "12 restore", "12 edit TEXT".
func (t *Tools) memoryPage(ctx context.Context, key store.Key, directory, rest string) (schema.CommandExecuteResult, error) {
	number, rest, _ := strings.Cut(rest, " ")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return warn("/%s memory needs the number of a memory.", menuName), nil
	}
	action, content, _ := strings.Cut(strings.TrimSpace(rest), " ")
	var m chronicle.Memory
	var done string
	err = t.edit(ctx, key, directory, func(e *memories.Editor, project string) (err error) {
		switch action {
		case "archive":
			done = "It is archived. No model sees it from the next change of the prompt's beginning on."
			_, err = e.Archive(project, []int64{id}, "the user has archived it in a dialog")
		case "restore":
			done = "Models see it from the next change of the prompt's beginning on."
			_, err = e.Restore(project, id)
		case "edit":
			done = "It is changed. Models see the new text from the next change of the prompt's beginning on."
			_, err = e.Update(project, id, func(m *chronicle.Memory) { m.Content = strings.TrimSpace(content) })
		}
		if err == nil {
			m, err = e.Reader().Memory(project, id)
		}
		return err
	})
	if err != nil {
		return t.failed(err)
	}
	at := fmt.Sprintf("memory %d ", id)
	choices := []schema.Choice{
		{Label: "Edit", Command: menuName, Arguments: at + "edit", Ask: "The fact, in one sentence", Value: m.Content},
		{Label: "Archive", About: "keep it, but show it to no model", Command: menuName, Arguments: at + "archive", Confirm: "No model sees it any longer. You can restore it."},
	}
	if m.Status != chronicle.MemoryIsActive {
		choices = []schema.Choice{{Label: "Show it to models", Command: menuName, Arguments: at + "restore"}}
		if m.Status == chronicle.MemoryIsProposed {
			choices = append(choices, schema.Choice{Label: "Refuse it", Command: menuName, Arguments: at + "archive"})
		}
	}
	choices = append(choices, schema.Choice{Label: "Back to the memories", Command: menuName, Arguments: "memories"})
	text := format.CleanLines(m.Content) + "\n" + format.Clean(strings.ToLower(m.Category)+", "+string(m.Status)+", from "+string(m.Source))
	if m.Doubt != "" {
		text += "\nDoubtful: " + format.Clean(m.Doubt)
	}
	if done != "" {
		text = done + "\n" + text
	}
	return pageOf(fmt.Sprintf("Memory %d", id), text, choices...), nil
}

// The method `edit` calls `act` in a transaction, for the project of the session.
func (t *Tools) edit(ctx context.Context, key store.Key, directory string, act func(e *memories.Editor, project string) error) error {
	w, err := t.writer(ctx, key, directory)
	if err != nil {
		t.Guard.Wrote(err)
		return err
	}
	if w.project == "" {
		return errNoProject
	}
	writing, cancel := t.Guard.Writing(ctx)
	defer cancel()
	_, err = t.Store.Answer(writing, key, "", func(e *memories.Editor) (string, error) { return "", act(e, w.project) })
	return err
}

// The method `failed` returns an error's text as the answer to the command if the user can understand the text.
// Otherwise, it returns the error itself.
func (t *Tools) failed(err error) (schema.CommandExecuteResult, error) {
	_, isRefusal := errors.AsType[memories.Refusal](err)
	for _, known := range []error{memories.ErrUnknown, memories.ErrInactive, memories.ErrSame} {
		isRefusal = isRefusal || errors.Is(err, known)
	}
	if isRefusal {
		return warn("Nothing is changed: %s", format.Clean(err.Error())), nil
	}
	t.Guard.Wrote(err)
	return schema.CommandExecuteResult{}, err
}

func (t *Tools) searchPage(ctx context.Context, key store.Key, directory, query string) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	q := search.Query{Text: query, Limit: maxChoices - 1}
	_, err := t.scope(ctx, key, directory, &q)
	if err != nil {
		return t.failed(err)
	}
	hits, err := t.find(ctx, q)
	switch {
	case ctx.Err() != nil:
		return none, err
	case errors.Is(err, index.ErrMissing), err == nil && len(hits) == 0:
		return pageOf("Search", "Nothing found. Try other or fewer words.", again), nil
	case err != nil: // for example, the query has no words
		return warn("%s", format.Clean(err.Error())), nil
	}
	choices := []schema.Choice{}
	for i := range hits {
		h := &hits[i]
		c := schema.Choice{Label: fmt.Sprintf("%d. %s, message %d: %s", i+1, hitKind(h), h.Last, shortened(h.Text)), Command: menuName}
		if h.Kind == index.Commit { // a commit has nothing but its text
			c.Label = fmt.Sprintf("%d. commit: %s", i+1, shortened(h.Text))
			c.Arguments = "search " + query
		} else {
			c.Arguments = fmt.Sprintf("message %d %s", h.Last, h.Session.ID)
		}
		choices = append(choices, c)
	}
	return pageOf("Search", fmt.Sprintf("%s for %q", format.Count(len(hits), "finding"), format.Clean(format.Shorten(query, maxChoice))), append(choices, again)...), nil
}

var again = schema.Choice{Label: "Search for other words", Command: menuName, Arguments: "search", Ask: "Words to look for"}

// messagePage shows a message word for word. The argument is "120" for message 120 of this session, or "120 ses_1" for
// that message of another session.
func (t *Tools) messagePage(ctx context.Context, key store.Key, directory, rest string) (schema.CommandExecuteResult, error) {
	number, other, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return warn("/%s message needs the number of a message.", menuName), nil
	}
	source, _, err := t.sourceFor(ctx, key, directory, other)
	isRefused := errors.Is(err, session.ErrSubagent) || errors.Is(err, errNoSession)
	if err != nil && !isRefused {
		t.Guard.Wrote(err)
		return schema.CommandExecuteResult{}, err
	}
	var parts []string
	if !isRefused {
		var extent rawhistory.Extent
		extent, err = source(ctx, n, n, func(m rawhistory.Message) bool {
			for _, part := range rawhistory.Parts(m, rawhistory.TextOptions{ForPeople: true}) {
				parts = append(parts, strings.TrimPrefix(part, fmt.Sprintf("[%d] ", n)))
			}
			return true
		})
		if err == nil && len(parts) == 0 {
			err = extent.Missing(n, n)
		}
	}
	if ctx.Err() != nil {
		return schema.CommandExecuteResult{}, err
	}
	text := strings.Join(parts, "\n")
	if err != nil {
		text = "Nothing is shown: " + err.Error()
	}
	if rest := len(text) - maxPage; rest > 0 {
		text = fmt.Sprintf("%s\nThe rest (%s) is not shown here. All of it: %s history expand %s %d", format.Shorten(text, maxPage), format.Bytes(int64(rest)), program.Name(), cmp.Or(other, key.Session), n)
	}
	var choices []schema.Choice
	if n > 1 {
		choices = append(choices, schema.Choice{Label: "The message before", Command: menuName, Arguments: strings.TrimSpace(fmt.Sprintf("message %d %s", n-1, other))})
	}
	choices = append(choices, schema.Choice{Label: "The message after", Command: menuName, Arguments: strings.TrimSpace(fmt.Sprintf("message %d %s", n+1, other))}, again)
	return pageOf(fmt.Sprintf("Message %d", n), format.CleanLines(text), choices...), nil
}

// takenPage lists the pieces that the user keeps, and the pieces that were taken out of the prompt, newest first.
// It also brings a piece back ("keep 12"), or lets it go ("let-go 12").
func (t *Tools) takenPage(ctx context.Context, key store.Key, rest string) (schema.CommandExecuteResult, error) {
	action, number, _ := strings.Cut(rest, " ")
	if action != "" {
		tag, err := strconv.Atoi(strings.Trim(number, "§ "))
		if err != nil || action != keep && action != letGo {
			return warn("Write /%s taken %s 12 or /%s taken %s 12, with the number of a piece.", menuName, keep, menuName, letGo), nil
		}
		_, err = t.Keep(ctx, schema.KeepParams{Harness: schema.Harness(key.Harness), Session: key.Session, Tags: []int{tag}, LetGo: action == letGo})
		if wrong, ok := errors.AsType[*client.Error](err); ok && wrong.IsInvalidParams() {
			return warn("Nothing is changed: %s.", format.Clean(err.Error())), nil
		}
		if err != nil {
			return schema.CommandExecuteResult{}, err
		}
	}
	st, err := t.Statuses.Session(ctx, schema.SessionStatusParams{Harness: schema.Harness(key.Harness), Session: key.Session, Dropped: true})
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	lines := []string{"Dropped: " + words.Dropped(st)}
	offered, lost, err := t.returnable(ctx, key, st)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	if lost > 0 {
		lines = append(lines, fmt.Sprintf("Not listed: %s of messages that are summarised or undone. With a summary, you can read its messages word for word.", format.Count(lost, "piece")))
	}
	var choices []schema.Choice
	listed, kept := len(offered)+len(st.KeptUnits), maxChoices
	if h := st.Head; h != nil && h.Through > 0 {
		choices = append(choices, schema.Choice{Label: fmt.Sprintf("Read the summaries of messages 1-%d", h.Through), About: "and the messages word for word", Command: menuName, Arguments: "summaries"})
		listed, kept = listed+1, kept-1
	}
	for _, u := range st.KeptUnits[:min(len(st.KeptUnits), kept)] {
		label := labelOf("Let go of ", schema.DroppedUnit{Tag: u.Tag, Kind: u.Kind, Tool: u.Tool, About: u.About, Tokens: u.Tokens})
		choices = append(choices, schema.Choice{Label: label, About: words.Kept(u), Command: menuName, Arguments: fmt.Sprintf("taken %s %d", letGo, u.Tag)})
	}
	if n := len(st.KeptUnits); n > 0 {
		lines = append(lines, fmt.Sprintf("You keep %s.", format.Count(n, "piece")))
	}
	for _, u := range offered[:min(len(offered), maxChoices-len(choices))] {
		choices = append(choices, schema.Choice{Label: labelOf("Bring back ", u), Command: menuName, Arguments: fmt.Sprintf("taken %s %d", keep, u.Tag)})
	}
	if more := listed - len(choices); more > 0 {
		lines = append(lines, fmt.Sprintf("%d older ones have no line here; /%s taken %s 12 brings back the one with the number 12.", more, menuName, keep))
	}
	if len(offered) > 0 {
		lines = append(lines, fmt.Sprintf("All in full: %s status %s --dropped", program.Name(), format.Clean(key.Session)))
	}
	return pageOf("Taken out of the prompt", strings.Join(lines, "\n"), choices...), nil
}

// In a list of choices, a harness may show only this many columns of a label, even on a wide screen.
const labelColumns = 60

func labelOf(act string, u schema.DroppedUnit) string {
	return act + words.Piece(u, labelColumns-len(act))
}

// The method `returnable` returns the dropped pieces that the user can bring back, newest first. `lost` is the number
// of dropped pieces that cannot come back.
func (t *Tools) returnable(ctx context.Context, key store.Key, st schema.SessionStatus) (offered []schema.DroppedUnit, lost int, err error) {
	s, err := t.Sessions.Lock(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	defer s.Unlock()
	state, err := t.Sessions.StateOf(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	for _, u := range st.DroppedUnits {
		switch unit := state.ByTag(u.Tag); {
		case unit != nil && unit.Kept != 0: // it has a line of its own
		case refuseKeeping(s, unit, u.Tag, false) == nil:
			offered = append(offered, u)
		default:
			lost++
		}
	}
	return offered, lost, nil
}

// These words are arguments of `/ctx-menu taken`, for example in "keep 12".
const keep, letGo = "keep", "let-go"

func shortened(text string) string { return format.Shorten(format.Clean(flat(text)), maxChoice) }
