package doctor

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// FreeBytes returns the space that is left for this user where path lies.
func FreeBytes(path string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}

// checkAccess cannot tell: what lists of rights allow shows when it is tried.
func checkAccess(string) error { return nil }

func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }
