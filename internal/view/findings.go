package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/format"
)

// A Diagnosis is the outcome of doctor. It is the output of doctor --json.
type Diagnosis struct {
	Findings []doctor.Finding `json:"findings"`
	Failures int              `json:"failures"`
	Warnings int              `json:"warnings"`
	Fixed    int              `json:"fixed"`
}

// NewDiagnosis counts the findings.
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

// PrintDiagnosis prints the findings of doctor, each with its remedy.
func PrintDiagnosis(w io.Writer, r Diagnosis, color bool) error {
	s := screen{Painter: Painter(color)}
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
		s.line(s.Paint(c, left(level, 6)) + left(f.Check, 14) + format.Clean(f.Message))
		if f.Remedy == "" || f.Fixed {
			continue
		}
		remedy := "→ " + format.Clean(f.Remedy)
		if f.Fixable {
			remedy += " (doctor --fix does it)"
		}
		s.line(strings.Repeat(" ", 20) + remedy)
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
