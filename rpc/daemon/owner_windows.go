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

// On Windows, access control lists decide who may create a file, and only an attempt shows what they permit. So
// checkAccess only checks that the directory exists.
func checkAccess(dir string) error {
	_, err := os.Stat(dir)
	return err
}
