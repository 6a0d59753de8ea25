package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
)

type doctorCmd struct {
	dataDirFlag
	JSON bool `help:"Print JSON."`
	Fix  bool `help:"Repair what is safe to repair: permissions, sockets and logs of dead hosts."`
}

// Help implements kong.HelpProvider.
func (doctorCmd) Help() string {
	return "Looks at program, host, harness, configuration, store, permissions and disk, and says what to do about what it finds. " +
		"It changes nothing without --fix. The exit code is 1 when something does not work."
}

// errUnwell ends a doctor run that found something broken.
var errUnwell = errors.New("something does not work, see above")

// Run examines everything and prints the findings.
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
		// A problem that was just repaired may have hidden another one, so examine again.
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
		Version: rpc.Version, Executable: executable,
		DataDir: dir, RuntimeDirs: daemon.RuntimeDirs(dir), Directory: project,
		Env: os.Getenv, Now: time.Now, LookPath: exec.LookPath, FreeBytes: doctor.FreeBytes,
		VersionOf: versionOf,
		AskHost: func(ctx context.Context, runtimeDir string) (schema.StatusResult, error) {
			return askHost(ctx, daemon.EndpointIn(runtimeDir, dir))
		},
		Conflicts: func(ctx context.Context) ([]doctor.Conflict, error) { return conflicts(ctx, places(project, dir)) },
		Installed: func(ctx context.Context) (string, error) { return installed(ctx, places(project, dir)) },
	}, nil
}

// versionTimeout bounds `opencode --version`: OpenCode unpacks itself on its first run.
const versionTimeout = 10 * time.Second

// versionOf returns the version that a program prints. If the program fails, the error is the last line
// of its stderr, which names the reason.
func versionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second // bounds the wait for children that keep its stdout open
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		if last := lines[len(lines)-1]; last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
	}
	return string(out), err
}

// places returns the project's place and the user's.
func places(project, dataDir string) []install.Place {
	return []install.Place{{Env: os.Getenv, DataDir: dataDir, Project: project}, {Env: os.Getenv, DataDir: dataDir}}
}

// conflicts plans an installation and throws the plan away, because planning finds every conflict.
func conflicts(ctx context.Context, places []install.Place) ([]doctor.Conflict, error) {
	var found []doctor.Conflict
	for _, place := range slices.Backward(places) {
		_, err := install.Install(ctx, install.Options{Place: place, Plugin: "@magicctx/opencode"})
		var conflict *install.ConflictError
		switch {
		case errors.As(err, &conflict):
			for _, c := range conflict.Conflicts {
				if d := doctor.Conflict(c); !slices.Contains(found, d) {
					found = append(found, d)
				}
			}
		case err != nil:
			return nil, err
		}
	}
	return found, nil
}

// installed returns the configuration that lists our plugin: the project's file if it does, else the
// user's.
func installed(ctx context.Context, places []install.Place) (string, error) {
	for _, place := range places {
		plan, err := install.Uninstall(ctx, place)
		switch {
		case err == nil:
			return plan.File, nil
		case !errors.Is(err, install.ErrNotInstalled):
			return "", err
		}
	}
	return "", nil
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
	return view.PrintDiagnosis(w, r, wantsColor(w))
}
