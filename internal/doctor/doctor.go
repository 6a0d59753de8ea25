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

type Level string

// Only Fail means that magicctx does not work.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

type Finding struct {
	Check string `json:"check"`
	// Harness is empty if the finding is about all harnesses.
	Harness schema.Harness `json:"harness,omitzero"`
	Level   Level          `json:"level"`
	Message string         `json:"message"`
	// Remedy tells the user what to do. It is an imperative sentence, or empty if the level is OK.
	Remedy  string `json:"remedy,omitzero"`
	Fixable bool   `json:"fixable,omitzero"`
	Fixed   bool   `json:"fixed,omitzero"`

	fix func(context.Context) error
	// If `stops` is true, magicctx does not work because of this finding. For the level Fail, it is always true.
	stops bool
	// If isFallback is set, Repair applies the remedy only if the other remedies have not helped.
	isFallback bool
}

type Options struct {
	Version    string // the version of this program
	Executable string // the path of this program
	// ProgramHash is the hash of this program, which doctor compares with the running host. If it is empty, doctor
	// skips the comparison.
	ProgramHash string
	DataDir     string
	// RuntimeDirs are the directories in which the next host may put its socket, preferred ones first.
	RuntimeDirs []string
	// If the running host was started in another environment, its socket may be in OtherDirs.
	OtherDirs []string
	Directory string // the project whose configuration is examined
	Env       func(string) string
	Now       func() time.Time
	LookPath  func(string) (string, error)
	VersionOf func(ctx context.Context, program string) (string, error)
	// PluginsOf lists the plugins that OpenCode 2's running server has loaded. If no server is running, it returns "".
	PluginsOf func(ctx context.Context, program string) (string, error)
	// If there is no host, AskHost returns daemon.ErrNoHost.
	AskHost func(ctx context.Context, runtimeDir string) (schema.StatusResult, error)
	// FreeBytes returns how many bytes this user can still write to the file system that contains path.
	FreeBytes func(path string) (uint64, error)
	// Timeout bounds each check. 0 means the constant timeout.
	Timeout time.Duration
	// Harnesses lists the harnesses to examine. If one of them is not used on this machine, Examine does not mention
	// it.
	Harnesses []Harness
	// OutsideProject holds the same harnesses, but their functions read only the user's configuration.
	OutsideProject []Harness
}

// The check of a large store takes longest.
const timeout = 30 * time.Second

type check struct {
	name string
	run  func(*examination, context.Context)
}

// ofProject lists the checks that read files of the project. The content of a repository can make these checks fail. So
// before doctor changes the user's own configuration, it runs them again outside the project.
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

// Examine runs all checks. If ctx ends, it returns the findings so far and ctx's error.
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

// If a disk hangs, a check may ignore its deadline. Even then, run returns soon after the deadline.
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

const noticing = 200 * time.Millisecond

// Repair applies the safe remedies, notes the outcome in each finding, and returns all errors. If magicctx still does
// not work afterwards, Repair applies the fallbacks.
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

type examination struct {
	Options
	notes
	before []Finding // the findings of the checks before this one
}

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

func (n *notes) fixable(fix func(context.Context) error) {
	f := &n.findings[len(n.findings)-1]
	f.Fixable, f.fix = true, fix
}
