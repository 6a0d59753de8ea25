package view

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
)

type Found struct {
	// Kind is text, rule, decision, command, error, read, write, commit or output. Role is user, agent or tool.
	Kind string `json:"kind"`
	Role string `json:"role"`
	// Project is the identity of the project, and Directory is the directory of the session.
	Project   string  `json:"project"`
	Directory string  `json:"directory,omitzero"`
	Harness   string  `json:"harness"`
	Session   string  `json:"session"`
	Ordinal   int     `json:"ordinal"`
	Message   string  `json:"message"`       // the harness's id of the message
	At        int64   `json:"at,omitzero"`   // Unix ms
	Score     float64 `json:"score"`         // from 0 to 1
	Tool      string  `json:"tool,omitzero"` // of an error or an output
	Status    *int    `json:"status,omitzero"`
	Text      string  `json:"text"`
}

// PrintFound prints the results, the best one first. It neither shortens nor wraps the texts, so that people can copy
// them.
func PrintFound(w io.Writer, all []Found, p Page) error {
	s := p.screen()
	for i := range all {
		f := &all[i]
		if i > 0 {
			s.line("")
		}
		about := []string{f.what(), filepath.Base(format.Clean(f.Directory)), format.Clean(f.Harness), format.Clean(f.Session), fmt.Sprintf("message %d", f.Ordinal)}
		if f.Kind == "commit" {
			about = []string{fmt.Sprintf("commit %.12s", format.Clean(f.Message)), filepath.Base(format.Clean(f.Directory))}
		}
		if f.At > 0 {
			about = append(about, minute(f.At, p.Now.Location()))
		}
		s.line(s.Paint(Strong, fmt.Sprintf("%.2f", f.Score)) + "  " + s.Paint(Faint, strings.Join(about, " · ")))
		colour := Plain
		if f.Kind == "error" || f.Status != nil && *f.Status != 0 {
			colour = Alarm
		}
		for line := range strings.Lines(strings.TrimSpace(format.CleanLines(f.Text))) {
			s.line("    " + s.Paint(colour, strings.TrimRight(line, "\n")))
		}
	}
	return s.print(w)
}

// `what` describes the kind of a result, for example "agent" or "command, exit status 1".
func (f *Found) what() string {
	switch {
	case f.Kind == "text":
		return f.Role
	case f.Kind == "command" && f.Status != nil:
		return fmt.Sprintf("command, exit status %d", *f.Status)
	case f.Kind == "error" && f.Tool != "":
		return "error of " + format.Clean(f.Tool)
	case f.Kind == "output":
		return "output of " + format.Clean(f.Tool)
	case f.Kind == "rule", f.Kind == "decision":
		return f.Kind + " of the " + f.Role
	case f.Kind == "read":
		return "file read"
	case f.Kind == "write":
		return "file written"
	}
	return f.Kind
}
