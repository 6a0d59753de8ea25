package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// Variable is the environment variable that sets the directory for traces. It has priority over `trace on`.
const Variable = "MAGICCTX_TRACE"

func Dir(dataDir string) string { return filepath.Join(dataDir, "traces") }

func How() string { return program.Name() + " trace on records the next session" }

// A Trace is a file with a recorded trace. Changed is the time of the last write.
type Trace struct {
	Path    string
	Bytes   int64
	Changed time.Time
}

// All returns the traces in the data directory and in the directory that Variable names, newest first. It sorts by file
// name: a name begins with the time in milliseconds, which has 13 digits until the year 2286.
func All(dataDir string) (all []Trace, err error) {
	dirs := []string{Dir(dataDir)}
	if dir := os.Getenv(Variable); dir != "" && !IsSame(dir, dirs[0]) {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look for traces: %w", err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && strings.Contains(e.Name(), ".jsonl") && e.Type().IsRegular() {
				all = append(all, Trace{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no trace in %s; %s", strings.Join(dirs, " or "), How())
	}
	slices.SortFunc(all, func(a, b Trace) int { return strings.Compare(filepath.Base(b.Path), filepath.Base(a.Path)) })
	return all, nil
}

func IsSame(a, b string) bool {
	of, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(of, other)
}

// Newest returns the newest trace with a request to a model. If no trace has one, it returns the newest trace.
func Newest(dataDir string) (Trace, error) {
	all, err := All(dataDir)
	if err != nil {
		return Trace{}, err
	}
	for _, t := range all {
		if t.Holds(context.Background(), "") {
			return t, nil
		}
	}
	return all[0], nil
}

func Of(ctx context.Context, dataDir, session string) (of []Trace, err error) {
	all, err := All(dataDir)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.Holds(ctx, session) {
			of = append(of, t)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("no trace of this session; %s", How())
	}
	return of, nil
}

// Holds reports whether the trace contains a request of the session. If session is empty, a request of any session is
// enough. If a person only starts the harness, its trace contains no request.
func (t Trace) Holds(ctx context.Context, session string) bool {
	f, err := os.Open(t.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	quoted := json.Quote(session)
	for frame, err := range rpc.ReadTrace(Reader(ctx, f)) {
		if err != nil {
			return false
		}
		if frame.From != rpc.FromShim || session != "" && !bytes.Contains(frame.Body, quoted) {
			continue
		}
		var m struct {
			Method string `json:"method"`
			Params struct {
				Session string `json:"session"`
			} `json:"params"`
		}
		if json.Unmarshal(frame.Body, &m) == nil && m.Method == schema.MethodTransform && (session == "" || m.Params.Session == session) {
			return true
		}
	}
	return false
}

func Reader(ctx context.Context, r io.Reader) io.Reader { return &cancelled{ctx, r} }

type cancelled struct {
	ctx context.Context
	io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}
