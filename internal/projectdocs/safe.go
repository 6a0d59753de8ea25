package projectdocs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/magicctx/magicctx-host/internal/regular"
)

// ErrTooLarge is the error for a document of more than 256 KiB.
var ErrTooLarge = errors.New("more than 256 KiB; move a part of it to another file")

// ErrBinary is the error for a file that is not text.
var ErrBinary = errors.New("it holds a zero byte, so it is no text; replace it by a text")

// readFile reads the regular file that expected describes. If the file has been replaced in the meantime,
// readFile fails, and the next fold reads the new file.
func readFile(root *os.Root, name string, expected fs.FileInfo) ([]byte, error) {
	f, opened, err := regular.Open(root, name, expected)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened.Size() > maxSize {
		return nil, ErrTooLarge
	}
	// The file may still grow. Reading one byte beyond the limit is enough to notice that.
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxSize {
		return nil, ErrTooLarge
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return nil, ErrBinary
	}
	return content, nil
}
