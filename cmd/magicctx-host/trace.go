package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/traces"
	"github.com/magicctx/magicctx-host/internal/format"
)

type traceCmd struct {
	dataDirFlag
	State string `arg:"" optional:"" default:"show" enum:"show,on,off" help:"on or off; by default show which it is."`
}

func (traceCmd) Help() string {
	return "A trace holds every message between the plugin and the host, so whole conversations. It stays on this machine, in a file that only you can read, " +
		"and magicctx-host replay --last replays the newest one. The change holds for each OpenCode and each Pi that starts after it."
}

func (cmd *traceCmd) Run(s streams) error {
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	switch cmd.State {
	case "on":
		if err := createDataDir(dir); err != nil {
			return err
		}
		if err := os.WriteFile(traceSwitch(dir), nil, 0o600); err != nil {
			return fmt.Errorf("switch traces on: %w", err)
		}
	case "off":
		if err := os.Remove(traceSwitch(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("switch traces off: %w", err)
		}
	}
	switch {
	case os.Getenv(traces.Variable) != "":
		_, err = fmt.Fprintf(s.out, "Traces are on while %s is set; they go to %s.\n", traces.Variable, format.Clean(os.Getenv(traces.Variable)))
	case isTraceOn(dir):
		_, err = fmt.Fprintf(s.out, "Traces are on: each OpenCode and each Pi that starts from now on records one in %s. A trace holds whole conversations.\n", format.Clean(traces.Dir(dir)))
	case !exists(traces.Dir(dir)):
		_, err = fmt.Fprintln(s.out, "Traces are off.")
	default:
		_, err = fmt.Fprintf(s.out, "Traces are off. Those recorded earlier stay in %s.\n", format.Clean(traces.Dir(dir)))
	}
	return err
}

func traceSwitch(dataDir string) string { return filepath.Join(dataDir, "trace-on") }

func isTraceOn(dataDir string) bool {
	return exists(traceSwitch(dataDir))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
