//go:build unix

package doctor

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// FreeBytes returns the space that this user may still fill on the file system of path.
func FreeBytes(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// checkAccess also finds a read-only file system, which the directory's mode does not show.
func checkAccess(dir string) error {
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &fs.PathError{Op: "write to", Path: dir, Err: err}
}

func ownerOf(info fs.FileInfo) (uid int, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
