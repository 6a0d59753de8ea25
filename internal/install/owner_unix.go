//go:build unix

package install

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file that it replaces. Otherwise an installation by root would
// lock the user out.
func keepOwner(f *os.File, replaced os.FileInfo) error {
	stat, ok := replaced.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}
