package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile writes content to file completely or not at all. If file is a link, it stays a link and
// its target is replaced. An existing file keeps its permissions and owner; a new one gets perm.
func replaceFile(file string, content []byte, perm fs.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	target, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		target = file
	} else if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	info, err := os.Stat(target)
	if err == nil {
		perm = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(target), ".magicctx-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer func() {
		if err != nil {
			temporary.Close()
			os.Remove(temporary.Name())
			err = fmt.Errorf("write %s: %w", file, err)
		}
	}()
	if _, err := temporary.Write(content); err != nil {
		return err
	}
	if err := temporary.Chmod(perm); err != nil {
		return err
	}
	if info != nil {
		if err := keepOwner(temporary, info); err != nil {
			return err
		}
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil { // Windows cannot rename an open file
		return err
	}
	return os.Rename(temporary.Name(), target)
}

// checkWritable refuses a file that its owner has made read-only. A rename over it would work all the
// same.
func checkWritable(file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s is read-only; allow writing, or edit it by hand", file)
	}
	return nil
}
