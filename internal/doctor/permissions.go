package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc/daemon"
)

// These are the permissions that our files and directories must have, and the ones that other users must not have. Our
// files hold the contents of sessions, and a user who can write to the socket's directory could pose as the host.
const (
	privateDir  = 0o700
	privateFile = 0o600
	others      = 0o077
	othersWrite = 0o022
)

func (x *examination) permissions(context.Context) {
	if runtime.GOOS == "windows" {
		return // Windows has no such modes, but the user's profile is private there
	}
	before := len(x.findings)
	x.directory(x.DataDir, othersWrite, x.fail, x.warn) // other programs may share this directory, so other users may read it
	if err := checkAccess(x.DataDir); err != nil && len(x.findings) == before {
		x.fail("make it writable, and the disk that it is on", "%v", err)
	}
	x.forSocket()
	for _, pattern := range []string{"magicctx.*", "logs/host.log*"} {
		files, _ := fs.Glob(os.DirFS(x.DataDir), pattern) // the only possible error is a bad pattern
		for _, file := range files {
			x.private(filepath.Join(x.DataDir, file))
		}
	}
	if len(x.findings) == before {
		x.ok("directories and files are yours alone")
	}
}

// runtimeDir returns the first directory that can hold the host's socket (`fit`), or "" if there is none. It also
// returns the directories before it, which cannot hold the socket (`unfit`).
func (x *examination) runtimeDir() (fit string, unfit []string) {
	for _, dir := range x.RuntimeDirs {
		if daemon.CheckRuntimeDir(dir) == nil {
			return dir, unfit
		}
		unfit = append(unfit, dir)
	}
	return "", unfit
}

// forSocket checks the directories that could hold the host's socket. The host uses the first one that fits, so
// problems of the directories before it are only warnings. If none fits, all problems are failures.
func (x *examination) forSocket() {
	fit, unfit := x.runtimeDir()
	find := x.fail
	if fit != "" {
		find = x.warn
	}
	for _, dir := range unfit {
		before := len(x.findings)
		x.directory(dir, others, find, find)
		if err := daemon.CheckRuntimeDir(dir); err != nil && len(x.findings) == before {
			find("make it a directory that you may write to", "%v", err)
		}
	}
}

type finder func(remedy, format string, args ...any)

// directory checks a directory of ours, if it exists. It calls `unusable` if the host cannot use the directory, and
// `open` if other users have a forbidden permission.
func (x *examination) directory(path string, forbidden fs.FileMode, unusable, open finder) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		unusable("see that you may read it", "%v", err)
		return
	case info.Mode()&fs.ModeSymlink != 0 && path == x.DataDir: // people may keep their data elsewhere and link to it
		if info, err = os.Stat(path); err != nil {
			unusable("repair or remove the link", "%s leads nowhere: %v", path, err)
			return
		}
	}
	if !info.IsDir() {
		unusable("remove it", "%s is no directory", path)
		return
	}
	if !x.isOurs(path, info, unusable) {
		return
	}
	mode := info.Mode().Perm()
	if mode&privateDir != privateDir {
		unusable("chmod u+rwx "+program.Quote(path), "you may not use %s (mode %#o)", path, mode)
		x.fixable(chmod(path, mode|privateDir))
		return
	}
	if mode&forbidden != 0 {
		open(fmt.Sprintf("chmod %#o %s", mode&^forbidden, program.Quote(path)), "%s is open to others (mode %#o)", path, mode)
		x.fixable(chmod(path, mode&^forbidden))
	}
}

func (x *examination) private(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if !x.isOurs(path, info, x.fail) {
		return
	}
	if mode := info.Mode().Perm(); mode&others != 0 || mode&privateFile != privateFile {
		x.warn(fmt.Sprintf("chmod %#o %s", privateFile, program.Quote(path)), "%s has mode %#o", path, mode)
		x.fixable(chmod(path, privateFile))
	}
}

func (x *examination) isOurs(path string, info fs.FileInfo, find finder) bool {
	owner, known := ownerOf(info)
	if known && owner != os.Getuid() {
		find(x.foreignRemedy(path, owner), "%s belongs to user %d", path, owner)
		return false
	}
	return true
}

// If somebody ran magicctx with sudo, root owns some files.
const root = 0

// foreignRemedy never advises the user to take over another user's directory, because the other user may have
// prepared a socket or database in it. Root's files in the data directory are an exception, because root can change
// all files anyway.
func (x *examination) foreignRemedy(path string, owner int) string {
	switch {
	case slices.Contains(x.RuntimeDirs, path) || slices.Contains(x.OtherDirs, path):
		return "do not use it; remove it, or have its owner or the administrator remove it: rm -r " + program.Quote(path)
	case owner == root:
		return fmt.Sprintf("sudo chown -R %d %s", os.Getuid(), program.Quote(path))
	default:
		return "do not use it; move it away, or choose another directory with MAGIC_CONTEXT_DATA_DIR"
	}
}

func chmod(path string, mode fs.FileMode) func(context.Context) error {
	return func(context.Context) error { return os.Chmod(path, mode) }
}
