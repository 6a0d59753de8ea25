package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

//go:embed wires.go.txt
var writer []byte

func main() {
	with := flag.String("with", "", "the other version, for example a commit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *with); err != nil {
		fmt.Fprintln(os.Stderr, "same:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, with string) (err error) {
	if with == "" {
		return errors.New("name the other version, as in -with HEAD~10")
	}
	dir, err := os.MkdirTemp("", "magicctx-same-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var wires [2][]byte
	for i, version := range []string{with, "HEAD"} {
		if wires[i], err = wiresOf(ctx, version, with, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return err
		}
		fmt.Printf("%s: %d wires\n", version, bytes.Count(wires[i], []byte("\n")))
	}
	if err := compare(string(wires[0]), string(wires[1])); err != nil {
		return err
	}
	goldens, err := git(ctx, ".", "diff", "--stat", with, "HEAD", "--", "pipeline/testdata", "pipeline/text/testdata")
	if err != nil {
		return err
	}
	if len(goldens) > 0 {
		return fmt.Errorf("goldens differ:\n%s", goldens)
	}
	fmt.Println("verdict, cause and bytes of all wires are equal, and so are the goldens of the pipeline")
	return nil
}

// wiresOf checks out `version` in `dir`, replays the traces of the version `traces`, and returns one line for each
// wire. The caller names the same `traces` for both versions, because the newer version may have more traces than the
// older one.
func wiresOf(ctx context.Context, version, traces, dir string) (_ []byte, err error) {
	if _, err := git(ctx, ".", "worktree", "add", "--detach", dir, version); err != nil {
		return nil, err
	}
	defer func() {
		_, removeErr := git(context.WithoutCancel(ctx), ".", "worktree", "remove", "--force", dir)
		err = errors.Join(err, removeErr)
	}()
	const at = "testdata/traces"
	for _, args := range [][]string{{"rm", "-rq", at}, {"checkout", traces, "--", at}} {
		if _, err := git(ctx, dir, args...); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "internal", "replay", "wires_test.go"), writer, 0o600); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "wires")
	fmt.Printf("%s: replaying every trace in every mode for every profile\n", version)
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-timeout", "30m", "./internal/replay", "-run", "^TestWriteWires$", "-args", "-wires", file)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("replay with %s: %w\n%s", version, err, out)
	}
	return os.ReadFile(file)
}

func compare(a, b string) error {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	differ, first := 0, ""
	for i := range max(len(as), len(bs)) {
		var x, y string
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		if x == y {
			continue
		}
		if differ++; differ == 1 {
			first = fmt.Sprintf("the first:\n- %s\n+ %s", x, y)
		}
	}
	if differ > 0 {
		return fmt.Errorf("%d wires differ; %s", differ, first)
	}
	return nil
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}
