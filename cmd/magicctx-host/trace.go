package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// traceVariable names a directory for traces. It overrides the setting of `trace on`.
const traceVariable = "MAGICCTX_TRACE"

type traceCmd struct {
	dataDirFlag
	State string `arg:"" optional:"" default:"show" enum:"show,on,off" help:"on or off; by default show which it is."`
}

// Help implements kong.HelpProvider.
func (traceCmd) Help() string {
	return "A trace holds every message between the plugin and the host, so whole conversations. It stays on this machine, in a file that only you can read, " +
		"and magicctx-host replay --last replays the newest one. The change holds for each OpenCode and each Pi that starts after it."
}

// Run switches the recording on or off, and prints whether it is on.
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
	case os.Getenv(traceVariable) != "":
		_, err = fmt.Fprintf(s.out, "Traces are on while %s is set; they go to %s.\n", traceVariable, format.Clean(os.Getenv(traceVariable)))
	case isTraceOn(dir):
		_, err = fmt.Fprintf(s.out, "Traces are on: each OpenCode and each Pi that starts from now on records one in %s. A trace holds whole conversations.\n", format.Clean(traceDir(dir)))
	case !exists(traceDir(dir)):
		_, err = fmt.Fprintln(s.out, "Traces are off.")
	default:
		_, err = fmt.Fprintf(s.out, "Traces are off. Those recorded earlier stay in %s.\n", format.Clean(traceDir(dir)))
	}
	return err
}

// traceSwitch is the file whose existence switches traces on.
func traceSwitch(dataDir string) string { return filepath.Join(dataDir, "trace-on") }

func traceDir(dataDir string) string { return filepath.Join(dataDir, "traces") }

func isTraceOn(dataDir string) bool {
	return exists(traceSwitch(dataDir))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// traceDirs returns the directories that may hold traces.
func traceDirs(dataDir string) []string {
	dirs := []string{traceDir(dataDir)}
	if dir := os.Getenv(traceVariable); dir != "" {
		dirs = append(dirs, dir)
	}
	return dirs
}

// newestTrace returns the newest trace that holds a request to a model. If no trace does, it returns the newest
// one. The name of a trace begins with the time in milliseconds, and all times of this century have the same
// number of digits.
func newestTrace(dirs []string) (string, error) {
	var traces []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for traces: %w", err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), ".jsonl") && e.Type().IsRegular() {
				traces = append(traces, filepath.Join(dir, e.Name()))
			}
		}
	}
	if len(traces) == 0 {
		return "", fmt.Errorf("no trace in %s; %s trace on records the next session", strings.Join(dirs, " or "), program.Name())
	}
	slices.SortFunc(traces, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
	if i := slices.IndexFunc(traces, hasRequest); i >= 0 {
		return traces[i], nil
	}
	return traces[0], nil
}

// hasRequest reports whether a trace holds a request to a model. If a harness was only started, its trace holds
// none.
func hasRequest(trace string) bool {
	f, err := os.Open(trace)
	if err != nil {
		return false
	}
	defer f.Close()
	for frame, err := range rpc.ReadTrace(f) {
		var m struct {
			Method string `json:"method"`
		}
		if err != nil {
			return false
		}
		if frame.From == rpc.FromShim && json.Unmarshal(frame.Body, &m) == nil && m.Method == schema.MethodTransform {
			return true
		}
	}
	return false
}
