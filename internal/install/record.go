package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A record lies beside an edited file and tells how to undo the edit.
type record struct {
	// Spec is the plugin entry that we inserted.
	Spec string `json:"spec"`
	// IsNew is true if the file did not exist. Then there is no backup.
	IsNew bool `json:"is_new,omitzero"`
	// Installed is the hash of the edited file.
	Installed string `json:"installed"`
	Former    former `json:"former"`
	// Settings is the path of the magicctx.jsonc that was created, and SettingsHash its hash.
	Settings     string `json:"settings,omitempty"`
	SettingsHash string `json:"settings_hash,omitempty"`
}

func backupPath(file string) string { return file + ".magicctx-backup" }
func recordPath(file string) string { return file + ".magicctx-backup.json" }

// readRecord returns the record of a file, nil if there is none.
func readRecord(file string) (*record, error) {
	content, err := readFile(recordPath(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", recordPath(file), err)
	}
	return r, nil
}

func (r *record) write(file string) error {
	content, err := json.MarshalIndent(r)
	if err != nil {
		return err
	}
	return replaceFile(recordPath(file), append(content, '\n'), 0o600)
}

// forget removes the record and the backup of a file.
func forget(file string) error {
	return errors.Join(removeFile(recordPath(file)), removeFile(backupPath(file)))
}

// removeFile removes a file. It is no error if the file does not exist.
func removeFile(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// withoutUs returns the content that an installed file would have without us. exact is true if that is
// the former file byte for byte. It returns nil if the file would not exist.
func (r *record) withoutUs(file string, content []byte) (before []byte, exact bool, err error) {
	backup, err := readFile(backupPath(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	switch untouched := hash(content) == r.Installed; {
	case untouched && r.IsNew:
		return nil, true, nil
	case err == nil && (untouched || bytes.Equal(content, backup)):
		return backup, true, nil
	}
	d, err := parseDocument(file, content)
	if err != nil {
		return nil, false, err
	}
	if err := disable(d, r.Spec, r.Former); err != nil {
		return nil, false, err
	}
	before = d.bytes()
	if r.IsNew && string(before) == newFile {
		return nil, true, nil
	}
	return before, false, nil
}
