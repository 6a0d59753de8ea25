package checks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/regular"
)

const maxFile = 256 << 10

// errUnknown means that a check has no result, for example because the file is too large.
var errUnknown = errors.New("it cannot be tested")

// The function `test` returns the reason why a check fails in a directory, or "" if the check holds. It follows no link
// out of the directory, and reads only regular files.
func test(root *os.Root, c chronicle.Check) (reason string, err error) {
	info, err := root.Lstat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.Path + " is gone", nil
	case err != nil:
		return "", err
	case c.Text == "" && c.Hash == "":
		return "", nil
	case info.Size() > maxFile:
		return "", errUnknown
	}
	f, _, err := regular.Open(root, c.Path, info)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(content); c.Hash != "" && c.Hash != hex.EncodeToString(sum[:]) {
		return c.Path + " has changed", nil
	}
	if !bytes.Contains(content, []byte(c.Text)) {
		return fmt.Sprintf("%s no longer has %q", c.Path, c.Text), nil
	}
	return "", nil
}
