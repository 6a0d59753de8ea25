package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/format"
)

// A Diagnosis is the output of doctor --json.
type Diagnosis struct {
	Findings []doctor.Finding `json:"findings"`
	Failures int              `json:"failures"`
	Warnings int              `json:"warnings"`
	Fixed    int              `json:"fixed"`
}

func NewDiagnosis(findings []doctor.Finding) Diagnosis {
	r := Diagnosis{Findings: findings}
	for _, f := range findings {
		switch {
		case f.Fixed:
			r.Fixed++
		case f.Level == doctor.Fail:
			r.Failures++
		case f.Level == doctor.Warn:
			r.Warnings++
		}
	}
	return r
}

const findingColumns = 20

// PrintDiagnosis prints the findings of doctor, each with its remedy. It never breaks a line within a path, because
// people copy paths. If `width` is 0, it breaks no line.
func PrintDiagnosis(w io.Writer, r Diagnosis, color bool, width int) error {
	s := screen{Painter: Painter(color)}
	print := func(label, text string) {
		lines := []string{text}
		if width > 0 {
			lines = format.FoldedWords(text, max(width-findingColumns, findingColumns), func(word string) string { return word })
		}
		for _, line := range lines {
			s.line(label + line)
			label = strings.Repeat(" ", findingColumns)
		}
	}
	for _, f := range r.Findings {
		level, c := string(f.Level), Plain
		switch {
		case f.Fixed:
			level = "fixed"
		case f.Level == doctor.Fail:
			c = Alarm
		case f.Level == doctor.Warn:
			c = Notice
		}
		print(s.Paint(c, format.Left(level, 6))+format.Left(f.Check, findingColumns-6), format.Clean(f.Message))
		if f.Remedy == "" || f.Fixed {
			continue
		}
		remedy := "→ " + format.Clean(f.Remedy)
		if f.Fixable {
			remedy += " (doctor --fix does it)"
		}
		print(strings.Repeat(" ", findingColumns), remedy)
	}
	s.line("")
	sum := format.Count(r.Failures, "failure") + ", " + format.Count(r.Warnings, "warning")
	if r.Fixed > 0 {
		sum += fmt.Sprintf(", %d repaired", r.Fixed)
	}
	if r.Failures+r.Warnings == 0 {
		sum = "all is well" + strings.TrimPrefix(sum, "0 failures, 0 warnings")
	}
	s.line(sum)
	_, err := fmt.Fprintln(w, strings.Join(s.lines, "\n"))
	return err
}
