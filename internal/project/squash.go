package project

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
)

const (
	maxSquashed = "200"
	maxPatches  = 32 << 20
)

// isSquashed reports whether a single commit that leads to target has the same patch as the whole branch up to newest.
// This is the case after a squash. It is also the case if the branch has only one commit, and this commit was
// cherry-picked or rebased.
func isSquashed(ctx context.Context, directory, newest, target string) (bool, error) {
	base, err := git(ctx, directory, "merge-base", target, newest)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 { // the two commits have no common ancestor
		return false, nil
	}
	if err != nil || !commit.MatchString(base) {
		return false, err
	}
	changed, err := git(ctx, directory, "diff-tree", "-r", "--name-only", "--no-renames", "-z", base, newest, "--")
	path, _, _ := strings.Cut(changed, "\x00")
	if err != nil || path == "" { // a branch without changes counts as not merged
		return false, err
	}
	// `path` is the first path that the branch changes. A commit with the same patch must change this path, too, so it
	// is enough to compare the commits that change it.
	patches := [][]string{{"diff-tree", base, newest}, {"log", "--no-merges", "--full-diff", "--format=commit %H", "--max-count=" + maxSquashed, base + ".." + target}}
	var ids [2]map[string]bool
	for i, args := range patches {
		args = append(args, "-p", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--full-index", "--")
		if i > 0 {
			args = append([]string{"-c", "log.showSignature=false"}, append(args, ":(top,literal)"+path)...)
		}
		if ids[i], err = patchIDs(ctx, directory, args); err != nil {
			return false, err
		}
	}
	for id := range ids[0] {
		if ids[1][id] {
			return true, nil
		}
	}
	return false, nil
}

var errLarge = errors.New("the patches of git are too large")

// patchIDs returns the ids of patches. Two patches have the same id even if their line numbers differ.
func patchIDs(ctx context.Context, directory string, args []string) (map[string]bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	show, identify := command(ctx, directory, args...), command(ctx, directory, "patch-id", "--stable")
	shown, err := show.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	in := &io.LimitedReader{R: shown, N: maxPatches}
	identify.Stdin, identify.Stdout = in, &out
	if err = show.Start(); err != nil {
		return nil, err
	}
	err = identify.Run()
	if in.N <= 0 {
		cancel()
		err = errLarge
	}
	if ended := show.Wait(); err == nil {
		err = ended
	}
	ids := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		id, _, _ := strings.Cut(line, " ")
		ids[id] = true
	}
	return ids, err
}
