package projectdocs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

var (
	// ErrNotRegular is the error for a link, a directory, a named pipe or a device.
	ErrNotRegular = errors.New("not a regular file; replace it by a copy of the document")
	// ErrTooLarge is the error for a document of more than 256 KiB.
	ErrTooLarge = errors.New("more than 256 KiB; move a part of it to another file")
	// ErrReplaced is the error for a file that was replaced while it was opened. The
	// next fold reads the new one.
	ErrReplaced = errors.New("replaced while it was opened")
)

// readFile reads the regular file that expected describes. Between that
// description and the open, somebody may have put a link or another file in its
// place: then the two are not the same file, and nothing is read.
func readFile(root *os.Root, name string, expected fs.FileInfo) ([]byte, error) {
	if err := check(expected); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(opened); err != nil {
		return nil, err
	}
	if !os.SameFile(expected, opened) {
		return nil, ErrReplaced
	}
	// The file may still grow. One byte more than allowed is enough to notice.
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxSize {
		return nil, ErrTooLarge
	}
	return content, nil
}

func check(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w (%s)", ErrNotRegular, info.Mode().Type())
	}
	if info.Size() > maxSize {
		return ErrTooLarge
	}
	return nil
}
