package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CheckOwner fails with ErrNotOurs if the data directory belongs to another user, because that user could read or
// replace the host's files. A missing directory is not an error.
func CheckOwner(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory: %w: %w", ErrCannotPersist, err)
	}
	if owner, known := userOf(info); known && owner != os.Getuid() {
		return fmt.Errorf("%w: %s belongs to user %d, this process runs as user %d", ErrNotOurs, dir, owner, os.Getuid())
	}
	return nil
}

// CheckFile fails with ErrForeign if path is a named pipe, a socket, a device or a directory. Without this check,
// opening a named pipe would block until another program opened its other end. A missing file is not an error.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // opening the file reports any other problem
	}
	kind := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	case mode.IsDir():
		kind = "directory"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s is a %s, not a file", ErrForeign, path, kind)
}

// checkFiles checks every file in dir that has a name of the host: the database, its sidecars, its copies, and the
// lock.
func checkFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w: %w", ErrCannotPersist, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, fileName) && name != lockName || entry.Type().IsRegular() {
			continue
		}
		if err := CheckFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
