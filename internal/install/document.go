package install

import (
	"fmt"
	"path/filepath"

	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/internal/regular"
)

const maxFileBytes = 4 << 20

type configuration struct {
	*jsonc.Document
	Place
}

// Some harnesses read no comments or trailing commas, so parseStrictly refuses a file that the harness cannot read.
func (p Place) parseStrictly(file string, content []byte) (configuration, error) {
	d, err := jsonc.ParseDocument(file, content)
	if err != nil || !p.Harness.isStrict || d.Tree.IsStandard() {
		return configuration{d, p}, err
	}
	return configuration{}, fmt.Errorf("%s: a comment or a trailing comma; %s takes neither, and ignores the whole file", d.FirstExtra(), p.Harness.Name)
}

// If the file does not exist, the error is fs.ErrNotExist.
func (p Place) readDocument(file string) (configuration, error) {
	content, err := readFile(file)
	if err != nil {
		return configuration{}, err
	}
	return p.parseStrictly(file, content)
}

func readFile(file string) ([]byte, error) {
	return regular.Read(file, maxFileBytes)
}

// readOwn reads a file of ours in the data directory. If the file is a link, readOwn returns an error.
func readOwn(file string) ([]byte, error) {
	if isLink(file) {
		return nil, fmt.Errorf("%s is a link; remove it", file)
	}
	return readFile(file)
}

// writeOwn writes a file of ours in the data directory. If the file is new, only the user can read it. writeOwn follows
// no link.
func writeOwn(file string, content []byte) error {
	if err := regular.MakeDirectory(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return regular.Replace(file, content, 0o600)
}
