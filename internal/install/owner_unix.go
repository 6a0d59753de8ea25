//go:build unix

package install

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner of like, which is the file that f replaces, or the directory of a new f.
// Otherwise an installation by root would lock the user out.
func keepOwner(f *os.File, like os.FileInfo) error {
	stat, ok := like.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() || like.IsDir() && os.Geteuid() != 0 {
		return nil // only root can give away a new file
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}
