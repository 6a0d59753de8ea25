package file

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// On Windows, other processes cannot read the first byte of a locked file. So the pid begins at the second byte.
const pidOffset = 1

// takeLock never removes the lock file. If it did, one process could open the file just before its removal and lock it,
// while another process creates and locks a new file. Both would believe that they hold the lock.
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
	// The fixed width overwrites any older pid.
	if _, err := file.WriteAt(fmt.Appendf(nil, "%-20d\n", os.Getpid()), pidOffset); err != nil {
		return err
	}
	return file.Close()
}

func ownerOf(path string) string {
	if CheckFile(path) != nil {
		return "unknown"
	}
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	buf := make([]byte, 32)
	n, _ := file.ReadAt(buf, pidOffset)
	pid := strings.TrimSpace(string(buf[:n]))
	if _, err := strconv.Atoi(pid); err != nil {
		return "unknown" // the owner has locked the file but has not written its pid yet
	}
	return pid
}
