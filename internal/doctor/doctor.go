package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// A Level says how bad a finding is.
type Level string

// The levels. Only Fail means that magicctx does not work.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// A Finding is one thing that was looked at.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	// Remedy says what to do, as an imperative; empty when the level is OK.
	Remedy string `json:"remedy,omitzero"`
	// Fixable tells that Repair can do it, Fixed that it has.
	Fixable bool `json:"fixable,omitzero"`
	Fixed   bool `json:"fixed,omitzero"`

	fix func(context.Context) error
}

// A Conflict is something in a harness's configuration that magicctx cannot
// work beside.
type Conflict struct{ Where, Problem, Remedy string }

// Options say what to look at, and how to reach what lies outside. All are
// required but for the last two.
type Options struct {
	Version    string // of this program
	Executable string // its path
	DataDir    string
	// RuntimeDirs are those in which a host may have its socket, best first.
	RuntimeDirs []string
	Directory   string // the project whose configuration counts
	Env         func(string) string
	Now         func() time.Time
	// LookPath finds a program by name.
	LookPath func(string) (string, error)
	// VersionOf runs a program for its version.
	VersionOf func(ctx context.Context, program string) (string, error)
	// AskHost asks the host whose socket is in a runtime directory; the error is
	// rpc.ErrNoHost when there is none.
	AskHost func(ctx context.Context, runtimeDir string) (schema.StatusResult, error)
	// FreeBytes is the space that is left for this user where path lies.
	FreeBytes func(path string) (uint64, error)
	// Conflicts finds what else works on the same sessions; nil skips that.
	Conflicts func() ([]Conflict, error)
	// Installed returns the harness's configuration that names our plugin, empty
	// when none does; nil skips that.
	Installed func() (string, error)
}

// timeout bounds each check; that of a large store takes longest.
const timeout = 30 * time.Second

// Examine looks at everything.
func Examine(ctx context.Context, o Options) []Finding {
	x := &examination{Options: o}
	for _, check := range []struct {
		name string
		run  func(context.Context)
	}{
		{"program", x.program},
		{"host", x.host},
		{"harness", x.harness},
		{"plugin", x.plugin},
		{"configuration", x.configuration},
		{"conflicts", x.conflicts},
		{"store", x.store},
		{"permissions", x.permissions},
		{"leftovers", x.leftovers},
		{"disk", x.disk},
	} {
		x.check = check.name
		limited, cancel := context.WithTimeout(ctx, timeout)
		check.run(limited)
		cancel()
	}
	return x.findings
}

// Repair does what is safe to do about the findings and notes in each what came
// of it. Its error joins what could not be done.
func Repair(ctx context.Context, findings []Finding) error {
	var errs []error
	for i := range findings {
		f := &findings[i]
		if f.fix == nil {
			continue
		}
		if err := f.fix(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Message, err))
			continue
		}
		f.Fixed = true
	}
	return errors.Join(errs...)
}

// Worst returns the worst level among what is not fixed.
func Worst(findings []Finding) Level {
	worst := OK
	for _, f := range findings {
		switch {
		case f.Fixed:
		case f.Level == Fail:
			return Fail
		case f.Level == Warn:
			worst = Warn
		}
	}
	return worst
}

// An examination is one run of the checks.
type examination struct {
	Options
	check    string
	findings []Finding
}

func (x *examination) ok(format string, args ...any) {
	x.findings = append(x.findings, Finding{Check: x.check, Level: OK, Message: fmt.Sprintf(format, args...)})
}

func (x *examination) warn(remedy, format string, args ...any) {
	x.findings = append(x.findings, Finding{Check: x.check, Level: Warn, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (x *examination) fail(remedy, format string, args ...any) {
	x.findings = append(x.findings, Finding{Check: x.check, Level: Fail, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// fixable lets Repair do something about the newest finding.
func (x *examination) fixable(fix func(context.Context) error) {
	f := &x.findings[len(x.findings)-1]
	f.Fixable, f.fix = true, fix
}
