package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
)

//go:embed ctx_note.md
var noteDescription string

var noteTool = tool{
	name: transcript.NoteTool, description: noteDescription, run: (*Tools).note,
	parameters: json.Value(`{"type":"object","properties":{` +
		`"action":{"type":"string","enum":["write","read","update","dismiss"]},` +
		`"content":{"type":"string"},` +
		`"condition":{"type":"string"},` +
		`"id":{"type":"integer"},` +
		`"all":{"type":"boolean","description":"read: also dismissed notes."}` +
		`},"required":["action"],"additionalProperties":false}`),
}

// If a call is wrong, the model gets the reason, followed by noteHelp.
const noteHelp = `
ctx_note takes
- action "write": content; condition if the note waits for something. The host tests "file: PATH", "no file: PATH", "merged: BRANCH", "merged: BRANCH into BRANCH", "date: 2027-01-31", "date: 2027-01-31 15:00" and "exit 0: COMMAND" (a command that you or the user run), and tells you when it holds. Any other one is yours to watch, for example "version 2 is released"
- action "read": all true to see dismissed notes, too
- action "update": id, and the new content or condition
- action "dismiss": id
For example: {"action":"write","content":"Remove the old flag.","condition":"merged: feature/flags"} or {"action":"write","content":"The parser ignores tabs; look at it after the release."}`

type noteArgs struct {
	Action    string `json:"action"`
	Content   string `json:"content"`
	Condition string `json:"condition"`
	ID        int64  `json:"id"`
	All       bool   `json:"all"`
}

func (t *Tools) note(ctx context.Context, key store.Key, p schema.ToolExecuteParams) (schema.ToolExecuteResult, error) {
	var a noteArgs
	if err := json.Unmarshal(p.Args, &a); err != nil {
		return wrong(errors.New("an argument has the wrong type"), noteHelp), nil
	}
	return t.answer(ctx, key, p, noteHelp, func(e *memories.Editor, w writer) (string, error) {
		n := chronicle.Note{
			ID: a.ID, Harness: key.Harness, Session: key.Session, Project: w.project, Message: w.message, Content: a.Content, Condition: a.Condition,
		}
		switch a.Action {
		case "write":
			n, err := e.WriteNote(n)
			return fmt.Sprintf("Note %d is kept.%s", n.ID, changed(a.Content, n.Content)), err
		case "update":
			return fmt.Sprintf("Note %d is updated.", a.ID), e.UpdateNote(n, a.Content, a.Condition)
		case "dismiss":
			return fmt.Sprintf("Note %d is dismissed.", a.ID), e.DismissNote(n)
		case "read":
			notes, err := e.Reader().Notes(key.Harness, key.Session, w.project, a.All)
			return notePage(notes), err
		}
		return "", memories.Refuse("action is %q; it is write, read, update or dismiss", a.Action)
	})
}

// A note can quote any text, even instructions. So notePage marks the result as data, like a page of ctx_expand.
func notePage(notes []chronicle.Note) string {
	if len(notes) == 0 {
		return "There are no open notes."
	}
	lines := make([]string, len(notes))
	for i, n := range notes {
		about := fmt.Sprintf("%d.", n.ID)
		if !n.IsOpen() {
			about += fmt.Sprintf(" (%s)", n.Status)
		}
		switch {
		case n.Status == chronicle.NoteIsReady:
			about += fmt.Sprintf(" Ready: %s. Note:", flat(n.Reason))
		case n.SaidBy != "":
			about += fmt.Sprintf(" Said by the %s in session %s:", n.SaidBy, flat(n.Session))
		case n.Condition != "":
			about += fmt.Sprintf(" Waits for: %s. Note:", flat(n.Condition))
		}
		if n.Message > 0 && n.Session != "" {
			about += fmt.Sprintf(" (message %d)", n.Message)
		}
		lines[i] = about + " " + flat(n.Content)
	}
	return bordered("Your notes", lines)
}
