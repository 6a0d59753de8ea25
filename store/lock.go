package store

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// The pid stands behind the first byte of the lock file, because on Windows
// the lock covers that byte and nobody else can read it.
const pidOffset = 1

// takeLock makes this process the owner of the database. The file is never
// removed: a process that waits on the old inode and one that creates a new
// file would both believe to hold it.
func takeLock(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w: %w", path, ErrCannotPersist, err)
	}
	if !held {
		return nil, fmt.Errorf("%w (pid %s, lock %s)", ErrLocked, ownerOf(path), path)
	}
	if err := writePID(path); err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("sign lock %s: %w: %w", path, ErrCannotPersist, err)
	}
	return lock, nil
}

func writePID(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	// A fixed width overwrites whatever pid stood there, so nothing is truncated.
	if _, err := file.WriteAt(fmt.Appendf(nil, "%-20d\n", os.Getpid()), pidOffset); err != nil {
		return err
	}
	return file.Close()
}

func ownerOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	buf := make([]byte, 32)
	n, _ := file.ReadAt(buf, pidOffset)
	pid := strings.TrimSpace(string(buf[:n]))
	if _, err := strconv.Atoi(pid); err != nil {
		return "unknown" // its owner is between locking and signing
	}
	return pid
}
