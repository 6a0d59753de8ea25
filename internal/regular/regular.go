package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

var (
	// ErrNotRegular is the error for a directory, a named pipe, a device, or a link that Open must not follow.
	ErrNotRegular = errors.New("not a regular file; replace it by a copy of the file")
	// ErrReplaced means that somebody replaced a file while it was opened. A second Open opens the new file.
	ErrReplaced = errors.New("replaced while it was opened")
)

// Open opens a regular file for reading. seen is the result of the caller's earlier Lstat. If a link or another
// file has replaced the file since then, Open fails with ErrReplaced.
func Open(root *os.Root, name string, seen fs.FileInfo) (*os.File, fs.FileInfo, error) {
	if err := Check(seen); err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	if err == nil {
		err = Check(opened)
	}
	if err == nil && !os.SameFile(seen, opened) {
		err = ErrReplaced
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, opened, nil
}

// If info does not describe a regular file, Check returns ErrNotRegular. info must come from Lstat, because
// Stat describes the target of a link.
func Check(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("a directory, %w", ErrNotRegular)
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("a link, %w", ErrNotRegular)
	}
	return ErrNotRegular
}
