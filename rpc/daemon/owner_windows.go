package daemon

import (
	"fmt"
	"os"
)

// checkOwner fails unless path is a directory. It need not check the owner,
// because on Windows each user has a directory for temporary files.
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

// checkAccess fails unless the directory exists. On Windows, only the creation
// of a file shows what the access control lists permit.
func checkAccess(dir string) error {
	_, err := os.Stat(dir)
	return err
}
