package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/schema"
)

// A Conflict is a setting or a plugin of a harness that cannot work together with magicctx.
type Conflict struct {
	Where, Problem, Remedy string
	// IsCompetitor means that the conflict is another plugin that rewrites the same messages. magicctx then switches
	// itself off.
	IsCompetitor bool
}

// A ShimProblem says why the plugin does not work as it should. IsFatal means that the plugin cannot start any host. If
// the plugin starts another program than this one, Program is that program's path.
type ShimProblem struct {
	Problem string
	IsFatal bool
	Program string
}

// A Harness holds functions that read the configuration of a harness. If a function is nil, doctor skips its check.
type Harness struct {
	ID schema.Harness
	// Name is shown to people, for example "OpenCode". Programs lists the names that the harness's program may have on
	// the PATH, the usual one first.
	Name     string
	Programs []string
	// HoldsCompactionBack means that our plugin, if it works, stops the harness from compacting sessions. So the
	// harness's own compaction setting may stay on.
	HoldsCompactionBack bool
	Conflicts           func(context.Context) ([]Conflict, error)
	// Installed returns the configuration file that lists our plugin, or "".
	Installed func(context.Context) (string, error)
	// EntryProblem returns a problem if this version of the harness ignores our configuration entry or loads the plugin
	// twice.
	EntryProblem func(context.Context) (problem, remedy string, err error)
	// PluginFile returns the file or directory of our plugin, or "" if it is unknown, for example for an npm package.
	PluginFile func(context.Context) (string, error)
	// ForeignPlugin returns the file that the harness runs instead of our plugin or loader, or "".
	ForeignPlugin func(context.Context) (string, error)
	// CompactionOff returns the configuration file that switches the harness's own compaction off, or "".
	CompactionOff func(context.Context) (string, error)
	// RestoreCompaction switches the harness's own compaction on again if an installation has switched it off. It
	// changes the project's configuration and, if `everywhere` is true, also the configuration that the user has for
	// all projects.
	RestoreCompaction func(ctx context.Context, everywhere bool) error
	Shim              func(context.Context) ([]ShimProblem, error)
	RenewShim         func(context.Context) error
}

func (x *examination) command(arguments string) string {
	return program.NameOf(x.Executable, x.LookPath) + " " + arguments
}

func (x *examination) install(h Harness) string { return x.command("install " + string(h.ID)) }

func (x *examination) reinstall(h Harness) string { return "run " + x.install(h) }

func (h Harness) isListed(ctx context.Context) bool {
	if h.Installed == nil {
		return false
	}
	file, err := h.Installed(ctx)
	return err == nil && file != ""
}

func (h Harness) entryProblem(ctx context.Context) (problem, remedy string) {
	if h.EntryProblem == nil {
		return "", ""
	}
	problem, remedy, err := h.EntryProblem(ctx)
	if err != nil { // another check reports it
		return "", ""
	}
	return problem, remedy
}

// A harness counts as used if its program is on the PATH, if a configuration lists our plugin, or if a configuration
// cannot be read.
func (x *examination) isUsed(ctx context.Context, h Harness) bool {
	if len(h.paths(x.LookPath)) > 0 {
		return true
	}
	if h.Installed == nil {
		return false
	}
	file, err := h.Installed(ctx)
	return file != "" || err != nil
}

func (h Harness) paths(lookPath func(string) (string, error)) (found []string) {
	for _, name := range h.Programs {
		if path, err := lookPath(name); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// eachUsed calls the function `look` with each used harness. If no harness is used, it calls `look` with the first one.
func (x *examination) eachUsed(ctx context.Context, look func(Harness)) {
	var used []Harness
	for _, h := range x.Harnesses {
		if x.isUsed(ctx, h) {
			used = append(used, h)
		}
	}
	if len(used) == 0 && len(x.Harnesses) > 0 {
		used = x.Harnesses[:1]
	}
	for _, h := range used {
		x.about = h.ID
		look(h)
	}
	x.about = ""
}

// A versionRange holds beginnings of versions, for example "1.18".
type versionRange struct {
	// `newest` is the newest version that the end-to-end tests run.
	oldest, newest string
	// The plugin was written for all versions that begin with `generation`, for example "1.".
	generation string
	// `note` is shown to users whose version is newer than `newest`.
	note string
}

// The ranges of a harness are in ascending order.
var versions = map[schema.Harness][]versionRange{
	schema.HarnessOpenCode: {
		{oldest: "1.18", newest: "1.18", generation: "1."},
		{oldest: "2.0", newest: "1.18", generation: "2.", note: "; magicctx was run with a beta of version 2 only. After an installation, opencode service restart loads the plugin"},
	},
	schema.HarnessPi: {{oldest: "0.74", newest: "0.87", generation: "1.", note: "; versions after 0.87 were only checked by their types"}},
}

func KnowsVersions(harness schema.Harness) bool { return len(versions[harness]) > 0 }

func (x *examination) harness(ctx context.Context) {
	found := 0
	x.eachUsed(ctx, func(h Harness) {
		paths := h.paths(x.LookPath)
		for _, path := range paths {
			x.version(ctx, h, path)
		}
		found += len(paths)
		if len(paths) == 0 && h.isListed(ctx) {
			found++
			x.warn(fmt.Sprintf("install %s, or see that your shell's PATH has it", h.Name), "%s is not on the PATH", h.Programs[0])
		}
	})
	if found == 0 {
		x.warn("install one, or see that your shell's PATH has it", "no harness is on the PATH: %s", programsOf(x.Harnesses))
	}
}

func programsOf(all []Harness) string {
	var names []string
	for _, h := range all {
		names = append(names, h.Programs[0])
	}
	return strings.Join(names, ", ")
}

func (x *examination) version(ctx context.Context, h Harness, path string) {
	version, err := x.VersionOf(ctx, path)
	if errors.Is(err, errSlow) { // not a failure: otherwise, `doctor --fix` would conclude that magicctx does not work
		x.warn("run doctor again when the machine is idle", "the version of %s is unknown: %s --version was stopped, because %v", h.Name, path, err)
		return
	}
	if err != nil {
		x.fail("run it by hand and see what it says", "%s --version: %v", path, err)
		return
	}
	version = strings.TrimPrefix(strings.TrimSpace(version), "v")
	known := rangeOf(version, versions[h.ID])
	older, isVersion := compareMinor(version, known.oldest)
	newer, _ := compareMinor(version, known.newest)
	program := filepath.Base(path)
	switch {
	case !isVersion:
		x.warn("see that this is "+h.Name, "%s says its version is %.40q", path, version)
	case older < 0:
		x.warn(fmt.Sprintf("update %s to %s or newer", h.Name, known.newest), "%s %s is older than the %s that magicctx was made with", program, version, known.oldest)
	case newer > 0 && !strings.HasPrefix(version, "0.") && !strings.HasPrefix(version, known.generation):
		x.warn("look for a newer magicctx if something is odd", "%s %s is of a later generation than the %s that magicctx was made with", program, version, known.newest)
	case newer > 0:
		x.ok("%s %s, %s%s", program, version, path, known.note)
	default:
		x.ok("%s %s, %s", program, version, path)
	}
	if isVersion && x.PluginsOf != nil && strings.HasPrefix(version, "2.") && h.isListed(ctx) {
		list, err := x.PluginsOf(ctx, path)
		switch id, source := rowOfPlugin(list); {
		case err != nil:
			x.warn("run it by hand and see what it says", "%s plugin list: %v", program, err)
		case id == "-":
			x.fail(`see "failed to load plugin" in OpenCode's log, then run `+program+" service restart", "the server of OpenCode 2 could not load the plugin from %s", source)
		case id == "" && list != "":
			x.warn("run "+program+" service restart", "the server of OpenCode 2 has started without the plugin")
		}
	}
}

// rowOfPlugin finds our plugin in OpenCode 2's list of plugins, and returns its id and its source. Each row of the list
// has an id, a version and a source. If a plugin did not load, its id is "-".
func rowOfPlugin(list string) (id, source string) {
	for line := range strings.Lines(list) {
		row := strings.Fields(line)
		if len(row) < 3 || !strings.Contains(row[0]+row[2], "magicctx") {
			continue
		}
		if id, source = row[0], row[2]; id != "-" {
			break
		}
	}
	return id, source
}

// rangeOf returns the newest range that begins at or before the version. If there is none, it returns the oldest
// range.
func rangeOf(version string, all []versionRange) versionRange {
	known := all[0]
	for _, r := range all[1:] {
		if order, ok := compareMinor(version, r.oldest); ok && order >= 0 {
			known = r
		}
	}
	return known
}
