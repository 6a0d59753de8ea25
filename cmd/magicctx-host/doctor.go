package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

type doctorCmd struct {
	dataDirFlag
	JSON bool `help:"Print JSON."`
	Fix  bool `help:"Repair what is safe to repair: permissions, sockets and logs of dead hosts, and compaction while magicctx cannot work."`
}

func (doctorCmd) Help() string {
	return "Looks at program, host, harnesses, configuration, store, permissions and disk, and says what to do about what it finds. " +
		"It changes nothing without --fix. If magicctx cannot work even then, --fix gives OpenCode's own compaction back; Pi's is on all the time, and magicctx holds it back while it works. The exit code is 1 when something does not work."
}

var errUnwell = errors.New("something does not work, see above")

func (cmd *doctorCmd) Run(ctx context.Context, s streams) error {
	o, err := cmd.options()
	if err != nil {
		return err
	}
	findings, err := doctor.Examine(ctx, o)
	if err != nil {
		return err
	}
	var notFixed error
	if cmd.Fix {
		notFixed = doctor.Repair(ctx, findings)
		// One problem may hide another. So after the repair, doctor examines everything again.
		fixed := slices.DeleteFunc(findings, func(f doctor.Finding) bool { return !f.Fixed })
		again, err := doctor.Examine(ctx, o)
		if err != nil {
			return err
		}
		findings = append(fixed, again...)
	}
	if err := cmd.print(s.out, findings); err != nil {
		return err
	}
	if notFixed != nil {
		return fmt.Errorf("repair: %w", notFixed)
	}
	if doctor.Worst(findings) == doctor.Fail {
		return errUnwell
	}
	return nil
}

func (cmd *doctorCmd) options() (doctor.Options, error) {
	dir, err := cmd.resolve()
	if err != nil {
		return doctor.Options{}, err
	}
	executable, err := os.Executable()
	if err != nil {
		return doctor.Options{}, err
	}
	project, err := os.Getwd()
	if err != nil {
		return doctor.Options{}, err
	}
	return doctor.Options{
		Version: rpc.Version, Executable: executable, ProgramHash: program.Hash(),
		DataDir: dir, RuntimeDirs: daemon.RuntimeDirs(dir), OtherDirs: otherDirs(dir), Directory: project,
		Env: os.Getenv, Now: time.Now, LookPath: exec.LookPath, FreeBytes: doctor.FreeBytes,
		VersionOf: doctor.VersionOf, PluginsOf: doctor.PluginsOf,
		AskHost: func(ctx context.Context, runtimeDir string) (schema.StatusResult, error) {
			return observer.Status(ctx, daemon.EndpointIn(runtimeDir, dir))
		},
		Harnesses: harnesses(project, dir), OutsideProject: harnesses("", dir),
	}, nil
}

// harnesses returns the harnesses that doctor examines. If project is empty, it looks only at the user's own
// configuration.
func harnesses(project, dataDir string) (all []doctor.Harness) {
	for _, h := range install.Harnesses {
		at := places(h, project, dataDir)
		inProject, ofUser := at[0], at[1]
		all = append(all, doctor.Harness{
			ID: h.ID, Name: h.Name, Programs: h.Programs, HoldsCompactionBack: h.HoldsCompactionBack(),
			Conflicts: func(ctx context.Context) ([]doctor.Conflict, error) { return conflicts(ctx, at) },
			Installed: func(ctx context.Context) (string, error) {
				plugin, err := findPlugin(ctx, inProject)
				return plugin.File, err
			},
			EntryProblem: func(ctx context.Context) (problem, remedy string, err error) {
				plugin, err := findPlugin(ctx, inProject)
				if problem, remedy = plugin.Problem(h); problem == "" && err == nil {
					problem = plugin.PanelProblem(ctx, inProject)
				}
				return problem, cmp.Or(remedy, fmt.Sprintf("run %s install %s", program.Name(), h.ID)), err
			},
			PluginFile: func(ctx context.Context) (string, error) {
				plugin, err := findPlugin(ctx, inProject)
				return plugin.Path, err
			},
			ForeignPlugin: func(ctx context.Context) (string, error) { return foreignPlugin(ctx, inProject) },
			CompactionOff: func(ctx context.Context) (string, error) { return install.CompactionOff(ctx, inProject) },
			RestoreCompaction: func(ctx context.Context, everywhere bool) error {
				if !everywhere {
					return restoreCompaction(ctx, at[:1])
				}
				return restoreCompaction(ctx, at)
			},
			Shim:      func(context.Context) ([]doctor.ShimProblem, error) { return shimProblems(ofUser) },
			RenewShim: func(context.Context) error { return renewShim(ofUser) },
		})
	}
	return all
}

// otherDirs returns the directories in which a host may have its socket if it was started with different environment
// variables. It leaves out the directories that this program would use itself.
func otherDirs(dataDir string) []string {
	usual := daemon.RuntimeDirs(dataDir)
	return slices.DeleteFunc(daemon.LookDirs(dataDir), func(dir string) bool { return slices.Contains(usual, dir) })
}

// places returns the two configurations that a harness reads: the project's, and the user's own.
func places(h *install.Harness, project, dataDir string) []install.Place {
	user := install.Place{Harness: h, Env: os.Getenv, DataDir: dataDir}
	inProject := user
	inProject.Project = project
	return []install.Place{inProject, user}
}

func conflicts(ctx context.Context, places []install.Place) (all []doctor.Conflict, err error) {
	found, err := install.ConflictsAt(ctx, places...)
	for _, c := range found {
		all = append(all, doctor.Conflict(c))
	}
	return all, err
}

// findPlugin returns the entry that loads magicctx's plugin. If no entry does, the returned Plugin is empty.
func findPlugin(ctx context.Context, place install.Place) (install.Plugin, error) {
	found, err := install.FindPlugin(ctx, place)
	if found == nil {
		return install.Plugin{}, err
	}
	return *found, err
}

func foreignPlugin(ctx context.Context, place install.Place) (string, error) {
	shim, err := carriedShim(place)
	if err != nil {
		return "", err
	}
	return install.ForeignPlugin(ctx, place, shim)
}

// restoreCompaction switches the harness's own compaction on again if an installation of magicctx has switched it off.
func restoreCompaction(ctx context.Context, places []install.Place) error {
	restored := false
	for _, place := range places {
		plan, err := install.RestoreCompaction(ctx, place)
		if errors.Is(err, install.ErrNotInstalled) {
			continue
		}
		if err != nil {
			return err
		}
		restored = restored || !plan.IsEmpty()
		if err := plan.Apply(); err != nil {
			return err
		}
	}
	if !restored {
		return errors.New("it was off before magicctx was installed; switch it on by hand")
	}
	return nil
}

func shimProblems(place install.Place) (found []doctor.ShimProblem, err error) {
	shim, err := carriedShim(place)
	if err != nil {
		return nil, err
	}
	problems, err := place.ShimProblems(shim)
	for _, p := range problems {
		found = append(found, doctor.ShimProblem(p))
	}
	return found, err
}

func renewShim(place install.Place) error {
	shim, err := carriedShim(place)
	if err != nil {
		return err
	}
	return place.RenewShim(shim)
}

func (cmd *doctorCmd) print(w io.Writer, findings []doctor.Finding) error {
	r := view.NewDiagnosis(findings)
	if cmd.JSON {
		content, err := json.MarshalIndent(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", format.CleanJSON(content))
		return err
	}
	width := 0 // 0 means no line breaks: a program that reads the output wants each finding on one line
	if terminal.Is(w) {
		width = widthOf(w)
	}
	return view.PrintDiagnosis(w, r, terminal.WantsColor(w), width)
}
