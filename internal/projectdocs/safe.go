package projectdocs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/magicctx/magicctx-host/internal/regular"
)

var ErrTooLarge = errors.New("more than 256 KiB; move a part of it to another file")

var ErrBinary = errors.New("it holds a zero byte, so it is no text; replace it by a text")

// readFile fails if the file is no longer the one that `expected` describes. The next fold then reads the new file.
func readFile(root *os.Root, name string, expected fs.FileInfo) ([]byte, error) {
	f, opened, err := regular.Open(root, name, expected)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened.Size() > maxSize {
		return nil, ErrTooLarge
	}
	// The file may still grow. One byte beyond the limit is enough to notice the growth.
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
