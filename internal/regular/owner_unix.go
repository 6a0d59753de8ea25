//go:build unix

package regular

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file that `like` describes: the file that f replaces or, if f is new, the
// directory of f. So if root installs magicctx for a user, the user can still change the files.
func keepOwner(f *os.File, like os.FileInfo) error {
	stat, ok := like.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() || like.IsDir() && os.Geteuid() != 0 {
		return nil // only root can give a new file to another user
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}
