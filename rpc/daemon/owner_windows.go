package daemon

import (
	"fmt"
	"os"
)

// On Windows, each user has a private directory for temporary files, so checkOwner does not check the owner.
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

// On Windows, access control lists decide, and only the creation of a file shows what they permit.
func checkAccess(dir string) error {
	_, err := os.Stat(dir)
	return err
}
