package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrTooLarge means that a file is larger than the caller's limit.
var ErrTooLarge = errors.New("too large")

// Read returns the content of a regular file. It follows links. If the file is larger than limit bytes, the error is
// ErrTooLarge.
//
// Read reads no more bytes than the size of the file. The kernel's files in /proc have size 0, and some of them have
// no end (/proc/self/pagemap) or make the reader wait (/proc/kmsg). A repository can contain links to them.
func Read(path string, limit int64) ([]byte, error) {
	content, size, err := read(path, limit)
	if err == nil && size > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d KiB", ErrTooLarge, limit>>10)}
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Prefix returns the first bytes of a regular file, at most limit. It follows the same rules as Read.
func Prefix(path string, limit int64) ([]byte, error) {
	content, _, err := read(path, limit)
	return content, err
}

func read(path string, limit int64) (content []byte, size int64, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	content, err = io.ReadAll(io.LimitReader(f, min(info.Size(), limit)))
	return content, info.Size(), err
}
