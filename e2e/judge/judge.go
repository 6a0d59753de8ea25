package judge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
)

// ErrMissing means that Bun or the judge's packages are not installed.
var ErrMissing = errors.New("the judge is not installed: run npm ci")

type Case struct {
	Name    string
	Profile string
	// Raw is the harness's array before a pass. Wire is the array after the pass.
	Raw, Wire []json.Value
	// Harness is "pi", "opencode2", or empty for OpenCode 1.
	Harness string
	Binds   bool
	// If Marked is set, the request must have a cache breakpoint at this text of the wire.
	Marked string

	// Body is a captured request, and Converter is the package that produced it.
	Body      json.Value
	Converter string

	// Bodies, if set, lists requests that the harness really sent through Converter. The judge converts Wire itself,
	// and the result must equal one of them. This shows that the judge converts as the harness does.
	Bodies []json.Value
}

// A Violation is a rule that the wire breaks although the raw array obeys it.
type Violation struct {
	Name     string `json:"name"`
	Profile  string `json:"profile"`
	Rule     string `json:"rule"`
	Where    string `json:"where"`
	Detail   string `json:"detail"`
	Messages int    `json:"messages"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s (%s): %s at %s: %s", v.Name, v.Profile, v.Rule, v.Where, v.Detail)
}

type Report struct {
	// Judged counts the judged cases of each profile, and the captured requests of each converter.
	Judged     map[string]int
	Violations []Violation
}

func (r Report) Cases() (n int) {
	for _, of := range r.Judged {
		n += of
	}
	return n
}

func (r Report) String() string {
	parts := make([]string, 0, len(r.Judged))
	for _, name := range slices.Sorted(maps.Keys(r.Judged)) {
		parts = append(parts, fmt.Sprintf("%d %s", r.Judged[name], name))
	}
	return fmt.Sprintf("judged %d: %s; %d violations", r.Cases(), strings.Join(parts, ", "), len(r.Violations))
}

// A Judge is a running judge program. Only one goroutine may use it.
type Judge struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Writer
	err    bytes.Buffer
	report Report
	read   chan error
}

// If Bun or the judge's packages are not installed, Start returns ErrMissing.
func Start(ctx context.Context) (*Judge, error) {
	root, err := root()
	if err != nil {
		return nil, err
	}
	bun := filepath.Join(root, "node_modules", ".bin", "bun")
	if runtime.GOOS == "windows" {
		bun += ".exe"
	}
	for _, needed := range []string{bun, filepath.Join(root, "node_modules", "ai")} {
		if _, err := os.Stat(needed); err != nil {
			return nil, fmt.Errorf("%w (%w)", ErrMissing, err)
		}
	}
	j := &Judge{cmd: exec.CommandContext(ctx, bun, filepath.Join(root, "e2e", "judge", "main.ts"), "--json"), read: make(chan error, 1)}
	j.report.Judged = make(map[string]int)
	j.cmd.Stderr = &j.err
	if j.in, err = j.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("judge's stdin: %w", err)
	}
	stdout, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("judge's stdout: %w", err)
	}
	if err := j.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the judge: %w", err)
	}
	j.out = bufio.NewWriterSize(j.in, 1<<20)
	go func() { j.read <- j.collect(stdout) }()
	return j, nil
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

func (j *Judge) collect(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var line struct {
			Violation
			Judged map[string]int `json:"judged"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("line of the judge: %w", err)
		}
		if line.Judged != nil {
			j.report.Judged = line.Judged
			continue
		}
		j.report.Violations = append(j.report.Violations, line.Violation)
	}
	return lines.Err()
}

// Send sends a case to the judge. Close returns the violations of all cases.
func (j *Judge) Send(c Case) error {
	type line struct {
		Name      string       `json:"name"`
		Profile   string       `json:"profile,omitempty"`
		Harness   string       `json:"harness,omitempty"`
		Binds     bool         `json:"binds,omitempty"`
		Marked    string       `json:"marked,omitempty"`
		Raw       []json.Value `json:"raw,omitempty"`
		Wire      []json.Value `json:"wire,omitempty"`
		Body      json.Value   `json:"body,omitempty"`
		Bodies    []json.Value `json:"bodies,omitempty"`
		Converter string       `json:"converter,omitempty"`
	}
	l := line{Name: c.Name, Profile: c.Profile, Harness: c.Harness, Binds: c.Binds, Marked: c.Marked, Raw: c.Raw, Body: c.Body, Bodies: c.Bodies, Converter: c.Converter}
	for i, m := range c.Wire {
		if j := i + len(c.Raw) - len(c.Wire); j >= 0 && bytes.Equal(m, c.Raw[j]) {
			m = json.Value(fmt.Sprint(j)) // the message is unchanged, so its index in raw replaces it
		}
		l.Wire = append(l.Wire, m)
	}
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.Name, err)
	}
	if _, err := j.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("case %s: %w: %s", c.Name, err, &j.err)
	}
	return nil
}

func (j *Judge) Close() (Report, error) {
	flushed := errors.Join(j.out.Flush(), j.in.Close())
	read := <-j.read
	var exit *exec.ExitError
	ended := j.cmd.Wait()
	if errors.As(ended, &exit) && exit.ExitCode() == 1 && len(j.report.Violations) > 0 {
		ended = nil // this exit code only says that there were violations
	}
	if err := errors.Join(flushed, read, ended); err != nil {
		return j.report, fmt.Errorf("the judge: %w: %s", err, &j.err)
	}
	return j.report, nil
}

// If the judge is not installed, Needs skips the test. In CI, the test fails instead, because a job without a judge
// must not succeed.
func Needs(t testing.TB) *Judge {
	t.Helper()
	j, err := Start(context.WithoutCancel(t.Context()))
	switch {
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return j
}

// Check closes j. For each kind of violation, it fails the test once, with the shortest example.
func (j *Judge) Check(t testing.TB) Report {
	t.Helper()
	r, err := j.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	for _, kind := range r.Kinds() {
		t.Errorf("%d times: %s", kind.Times, kind.Shortest)
	}
	return r
}

type Kind struct {
	Shortest Violation
	Times    int
}

func (r Report) Kinds() []Kind {
	var kinds []Kind
	place := make(map[string]int)
	for _, v := range r.Violations {
		converter, _, _ := strings.Cut(v.Where, ":")
		id := v.Profile + "\n" + v.Rule + "\n" + converter
		i, ok := place[id]
		if !ok {
			i = len(kinds)
			place[id] = i
			kinds = append(kinds, Kind{Shortest: v})
		}
		kinds[i].Times++
		if v.Messages < kinds[i].Shortest.Messages {
			kinds[i].Shortest = v
		}
	}
	return kinds
}
