package rpc

import (
	"fmt"
	"os"
)

// checkOwner fails unless path is a directory. On Windows the directory for
// temporary files is the user's own.
func checkOwner(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", path)
	}
	return nil
}

func checkPrivate(string) error { return nil }

// checkAccess fails unless the directory exists: what its lists of rights allow
// shows only when it is tried.
func checkAccess(dir string) error {
	_, err := os.Stat(dir)
	return err
}
