package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RealPath resolves the links in the path of a file. The file itself may be missing.
func RealPath(file string) (string, error) {
	real, err := filepath.EvalSymlinks(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	return filepath.Join(dir, filepath.Base(file)), err
}

// Replace writes a file completely or not at all. The path must be real (see RealPath), because Replace follows no
// link. An existing file keeps its permissions and owner. A new file gets the permissions `perm`, and belongs to the
// owner of its directory.
func Replace(file string, content []byte, perm fs.FileMode) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", file, err)
		}
	}()
	if err := MakeDirectory(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	like, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if like, err = os.Stat(filepath.Dir(file)); err != nil {
			return err
		}
	case err != nil:
		return err
	case !like.Mode().IsRegular():
		return errors.New("not a regular file")
	default:
		perm = like.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".magicctx-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temporary.Close()
			os.Remove(temporary.Name())
		}
	}()
	if _, err := temporary.Write(content); err != nil {
		return err
	}
	if err := temporary.Chmod(perm); err != nil {
		return err
	}
	if err := keepOwner(temporary, like); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil { // Windows cannot rename an open file
		return err
	}
	return os.Rename(temporary.Name(), file)
}

// MakeDirectory creates a directory and the missing directories above it. A new directory belongs to the owner of its
// parent. So if root runs the installation, the user can still remove the new directories.
func MakeDirectory(dir string, perm fs.FileMode) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a directory", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	above := filepath.Dir(dir)
	if err := MakeDirectory(above, perm); err != nil {
		return err
	}
	if err := os.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err = os.Stat(above); err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return keepOwner(f, info)
}

// CheckWritable returns an error for a read-only file, because a rename would replace even such a file.
func CheckWritable(file string) error {
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
