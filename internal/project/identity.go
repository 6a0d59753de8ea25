package project

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const gitPrefix = "git:"

func IsRepository(identity string) bool { return strings.HasPrefix(identity, gitPrefix) }

// OfDirectory returns the identity of a directory outside a repository, without reading a file. The TypeScript plugin
// uses the same identity, so its memories can be imported. The MD5 hash is not for security.
func OfDirectory(directory string) string {
	sum := md5.Sum([]byte(filepath.Clean(directory)))
	return "dir:" + hex.EncodeToString(sum[:])[:12]
}

// Identify returns the identity of the project that contains a directory. It fails if it cannot find out the identity
// now, for example because git is missing or slow. A later call may succeed.
func Identify(ctx context.Context, directory string) (string, error) {
	identity, err := identify(ctx, directory)
	if err != nil {
		return "", fmt.Errorf("find the project of %s: %w", directory, err)
	}
	return identity, nil
}

func identify(ctx context.Context, directory string) (string, error) {
	if !filepath.IsAbs(directory) {
		return "", errors.New("the path is not absolute")
	}
	repository, err := repositoryOf(directory)
	if err != nil {
		return "", err
	}
	if repository == "" {
		return OfDirectory(directory), nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	isShallow, err := git(ctx, directory, "rev-parse", "--is-shallow-repository")
	if err == nil && isShallow == "true" {
		return OfDirectory(directory), nil
	}
	root := ""
	if err == nil {
		root, err = git(ctx, directory, "rev-list", "--first-parent", "--max-parents=0", "HEAD", "--")
	}
	switch {
	case errors.Is(err, errNoRepository):
		return OfDirectory(directory), nil
	case err != nil:
		return "", err
	case !commit.MatchString(root):
		return "", fmt.Errorf("git names %q as the root commit", root)
	}
	return gitPrefix + root, nil
}

var commit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Root returns the root of the repository or worktree that contains a directory. Outside a repository, it returns the
// directory itself.
func Root(directory string) string {
	root, _ := repositoryOf(directory)
	return cmp.Or(root, directory)
}

// repositoryOf returns the nearest directory with a .git: the directory itself, or one above it. A repository, a
// linked worktree and a submodule have a .git. If there is none, root is "".
func repositoryOf(directory string) (root string, err error) {
	directory, err = filepath.EvalSymlinks(directory)
	if err != nil {
		return "", err
	}
	for {
		dotGit := filepath.Join(directory, ".git")
		_, err := os.Stat(dotGit)
		if err == nil {
			if _, err := os.Stat(filepath.Join(dotGit, "HEAD")); errors.Is(err, fs.ErrPermission) {
				return "", err
			}
			return directory, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return "", nil
		}
		directory = parent
	}
}

const gitTimeout = 5 * time.Second

// errNoRepository means that the directory has no root commit. The answer stays the same until somebody changes the
// directory, so it is useless to ask git again.
var errNoRepository = errors.New("no commit of a repository")

// These messages of git mean that there is no repository, that it belongs to another user, or that it has no commit.
var noRepository = []string{
	"not a git repository",
	"dubious ownership", "unsafe repository",
	"bad revision 'HEAD'",
}

func git(ctx context.Context, directory string, args ...string) (string, error) {
	out, err := command(ctx, directory, args...).Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("git: %w", context.Cause(ctx))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		said := string(bytes.TrimSpace(exit.Stderr))
		if slices.ContainsFunc(noRepository, func(known string) bool { return strings.Contains(said, known) }) {
			return "", errNoRepository
		}
		return "", fmt.Errorf("git: %w: %s", err, said)
	}
	return string(bytes.TrimSpace(out)), err
}

func command(ctx context.Context, directory string, args ...string) *exec.Cmd {
	args = append([]string{
		"--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "advice.graftFileDeprecated=false",
	}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = directory, environment(), time.Second
	return cmd
}

// environment returns the environment for git. If a git hook has started the host, the host's own environment has
// variables such as GIT_DIR, which name another repository. So environment removes them.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), "GIT_") })
	return append(env,
		"LC_ALL=C",                   // the messages are compared in English
		"GIT_NO_LAZY_FETCH=1",        // git fetches no missing objects of a partial clone
		"GIT_ALLOW_PROTOCOL=",        // an old git ignores the line above, so it gets no protocol for a fetch
		"GIT_OPTIONAL_LOCKS=0",       // git writes nothing
		"GIT_TERMINAL_PROMPT=0",      // git asks no questions
		"GIT_CONFIG_NOSYSTEM=1",      // only the user's and the repository's configuration count
		"GIT_GRAFT_FILE="+os.DevNull, // a graft would give the commits other parents
	)
}
