package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

// A Level is the severity of a finding.
type Level string

// Only Fail means that magicctx does not work.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// A Finding is the result of one check.
type Finding struct {
	Check string `json:"check"`
	// Harness is the harness that the finding is about, empty for all of them.
	Harness schema.Harness `json:"harness,omitzero"`
	Level   Level          `json:"level"`
	Message string         `json:"message"`
	// Remedy is the action to take, as an imperative. It is empty when the level is OK.
	Remedy string `json:"remedy,omitzero"`
	// Fixable is true if Repair can apply the remedy, Fixed if it has.
	Fixable bool `json:"fixable,omitzero"`
	Fixed   bool `json:"fixed,omitzero"`

	fix func(context.Context) error
	// stops is true if magicctx does not work because of this finding. It is always true for the level Fail.
	stops bool
	// isFallback is true if Repair may apply the fix only as long as another problem remains.
	isFallback bool
}

// Options describe the machine to examine and the ways to reach other processes. Timeout is optional.
type Options struct {
	Version    string // the version of this program
	Executable string // the path of this program
	// ProgramHash is the hash of this program's file. If it is empty, doctor does not compare it with the hash of the
	// running host.
	ProgramHash string
	DataDir     string
	// RuntimeDirs are the directories in which the next host may put its socket, preferred ones first.
	RuntimeDirs []string
	// OtherDirs are further directories in which the running host may have its socket, because it may have
	// started with another environment.
	OtherDirs []string
	Directory string // the project whose configuration is examined
	Env       func(string) string
	Now       func() time.Time
	// LookPath finds a program by name.
	LookPath func(string) (string, error)
	// VersionOf runs a program and returns the version that it prints.
	VersionOf func(ctx context.Context, program string) (string, error)
	// PluginsOf returns the list of plugins that the running server of OpenCode 2 has loaded for the project. If no
	// server runs, the list is empty.
	PluginsOf func(ctx context.Context, program string) (string, error)
	// AskHost asks the host whose socket is in a runtime directory. If there is no host, the error is
	// daemon.ErrNoHost.
	AskHost func(ctx context.Context, runtimeDir string) (schema.StatusResult, error)
	// FreeBytes returns the space that this user may still fill on the file system of path.
	FreeBytes func(path string) (uint64, error)
	// Timeout bounds each check. 0 means 30 s.
	Timeout time.Duration
	// Harnesses are the harnesses to examine. Examine does not mention a harness that is not used on this
	// machine.
	Harnesses []Harness
	// OutsideProject holds the same harnesses as Harnesses, but their functions read only the user's own configuration.
	OutsideProject []Harness
}

// timeout bounds each check. The check of a large store takes longest.
const timeout = 30 * time.Second

type check struct {
	name string
	run  func(*examination, context.Context)
}

// ofProject are the checks that read files of the project. A repository can make them fail.
var ofProject = []check{
	{"plugin", (*examination).plugin},
	{"configuration", (*examination).configuration},
	{"conflicts", (*examination).conflicts},
}

var checks = []check{
	{"program", (*examination).program},
	{"host", (*examination).host},
	{"harness", (*examination).harness},
	ofProject[0],
	ofProject[1],
	ofProject[2],
	{"store", (*examination).store},
	{"retention", (*examination).retention},
	{"embedding", (*examination).embedding},
	{"permissions", (*examination).permissions},
	{"leftovers", (*examination).leftovers},
	{"disk", (*examination).disk},
	{"compaction", (*examination).compaction}, // last, because this check uses the other findings
}

// Examine runs all checks. If ctx ends, it returns the findings so far and the error of ctx.
func Examine(ctx context.Context, o Options) ([]Finding, error) {
	var all []Finding
	for _, check := range checks {
		found := o.run(ctx, all, check.name, check.run)
		if ctx.Err() != nil {
			return all, fmt.Errorf("examine %s: %w", check.name, context.Cause(ctx))
		}
		all = append(all, found...)
	}
	return all, nil
}

// run returns the findings of one check. Some files come from a project, and some disks hang, so run does
// not rely on the check to notice its deadline.
func (o Options) run(ctx context.Context, before []Finding, name string, check func(*examination, context.Context)) []Finding {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, timeout))
	defer cancel()
	done := make(chan []Finding, 1)
	go func() {
		x := &examination{Options: o, notes: notes{check: name}, before: before}
		check(x, limited)
		done <- x.findings
	}()
	select {
	case found := <-done:
		return found
	case <-limited.Done():
	}
	select {
	case found := <-done: // most checks notice their deadline themselves, and report more details
		return found
	case <-time.After(noticing):
		x := &examination{notes: notes{check: name}}
		x.warn("run doctor again when the machine is idle; if it stays, look for what is slow: a disk, or a very large file of the project", "this check was given up: it did not end in time")
		return x.findings
	}
}

// noticing is how long a check may take to notice its deadline.
const noticing = 200 * time.Millisecond

// Repair applies the remedies that are safe, and notes the outcome in each finding. If remedies fail, Repair returns
// their errors together. It applies fallbacks last, and only if magicctx still does not work by then.
func Repair(ctx context.Context, findings []Finding) error {
	err := repair(ctx, findings, func(f Finding) bool { return !f.isFallback })
	return errors.Join(err, repair(ctx, findings, func(f Finding) bool { return f.isFallback && stopped(findings, f.Harness) }))
}

func repair(ctx context.Context, findings []Finding, isMeant func(Finding) bool) error {
	var errs []error
	for i := range findings {
		f := &findings[i]
		if f.fix == nil || !isMeant(*f) {
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

// stopped reports whether magicctx does not work in a harness because of findings that are not fixed.
func stopped(findings []Finding, harness schema.Harness) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool {
		return !f.Fixed && (f.stops || f.Level == Fail) && (f.Harness == "" || f.Harness == harness)
	})
}

// Worst returns the worst level among the findings that are not fixed.
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
	notes
	before []Finding // the findings of the checks before this one
}

// notes collects the findings of a check.
type notes struct {
	check    string
	about    schema.Harness // the harness of the next findings, empty for all harnesses
	findings []Finding
}

func (n *notes) ok(format string, args ...any) {
	n.findings = append(n.findings, Finding{Check: n.check, Harness: n.about, Level: OK, Message: fmt.Sprintf(format, args...)})
}

func (n *notes) warn(remedy, format string, args ...any) {
	n.findings = append(n.findings, Finding{Check: n.check, Harness: n.about, Level: Warn, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (n *notes) fail(remedy, format string, args ...any) {
	n.findings = append(n.findings, Finding{Check: n.check, Harness: n.about, Level: Fail, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// fixable gives Repair a function that fixes the newest finding.
func (n *notes) fixable(fix func(context.Context) error) {
	f := &n.findings[len(n.findings)-1]
	f.Fixable, f.fix = true, fix
}
