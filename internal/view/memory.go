package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
)

func PrintMemories(w io.Writer, all []chronicle.Memory) error {
	newest := make(map[string]chronicle.Memory) // the newest memory with a directory, by project
	for _, m := range all {
		if m.Directory != "" && m.SeenAt >= newest[m.Project].SeenAt {
			newest[m.Project] = m
		}
	}
	project := ""
	for _, m := range all {
		if m.Project != project {
			project = m.Project
			if project == chronicle.UserProject {
				fmt.Fprintln(w, "About you, in all projects")
			} else {
				fmt.Fprintf(w, "%s (%s)\n", format.Clean(cmp.Or(newest[project].Directory, "unknown directory")), format.Clean(project))
			}
		}
		if _, err := fmt.Fprintln(w, memoryLine(m)); err != nil {
			return err
		}
	}
	return nil
}

// memoryLine describes a memory in one line of a list: its id, category, remarks and content, for example "7 NAMING
// (from agent): use bun".
func memoryLine(m chronicle.Memory) string {
	var about []string
	if m.Status != chronicle.MemoryIsActive {
		about = append(about, string(m.Status))
	}
	if m.Permanent {
		about = append(about, "pinned")
	}
	if m.Doubt != "" {
		about = append(about, "doubtful: "+format.Clean(m.Doubt))
	}
	if m.Source != chronicle.FromHistorian {
		about = append(about, "from "+string(m.Source))
	}
	text := ""
	if len(about) > 0 {
		text = " (" + strings.Join(about, ", ") + ")"
	}
	return fmt.Sprintf("%6d  %s%s: %s", m.ID, format.Clean(m.Category), text, format.Clean(m.Content))
}

func PrintMemory(w io.Writer, m chronicle.Memory, log []chronicle.MemoryChange, at *time.Location) error {
	lines := []string{
		memoryLine(m),
		fmt.Sprintf("project %s, importance %d, seen %s, last on %s", m.Project, m.Importance, format.Count(m.Seen, "time"), minute(m.SeenAt, at)),
	}
	if m.Session != "" {
		lines = append(lines, fmt.Sprintf("learned in %s session %s, message %d, in %s", m.Harness, m.Session, m.Message, m.Directory))
	}
	if m.Check != "" {
		lines = append(lines, "check: "+m.Check)
	}
	if m.ExpiresAt != 0 {
		lines = append(lines, "expires on "+minute(m.ExpiresAt, at))
	}
	lines = append(lines, minute(m.CreatedAt, at)+"  stored")
	for _, ch := range log {
		line := minute(ch.At, at) + "  " + string(ch.Kind)
		if ch.SupersededBy != 0 {
			line += fmt.Sprintf(" by %d", ch.SupersededBy)
		}
		lines = append(lines, strings.TrimSpace(line+" "+ch.Content))
	}
	for i, line := range lines {
		if i > 0 {
			line = "        " + format.Clean(line)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func PrintNotes(w io.Writer, notes []chronicle.Note, at *time.Location) error {
	for _, n := range notes {
		of := fmt.Sprintf("%s session %s", n.Harness, n.Session)
		if n.Condition != "" {
			of = fmt.Sprintf("project %s, waits for: %s", n.Project, n.Condition)
		}
		if n.SaidBy != "" {
			of = fmt.Sprintf("project %s, said by the %s in %s session %s, message %d", n.Project, n.SaidBy, n.Harness, n.Session, n.Message)
		}
		if n.Reason != "" {
			of = fmt.Sprintf("%s, %s", of, n.Reason)
		}
		if _, err := fmt.Fprintf(w, "%6d  %s, %s, %s: %s\n", n.ID, n.Status, minute(n.CreatedAt, at), format.Clean(of), format.Clean(n.Content)); err != nil {
			return err
		}
	}
	return nil
}

// minute formats a Unix time in ms without its seconds, for example "2026-11-20 12:01".
func minute(ms int64, at *time.Location) string {
	return time.UnixMilli(ms).In(at).Format("2006-01-02 15:04")
}
