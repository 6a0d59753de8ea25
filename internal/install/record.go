package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/schema"
)

// A record tells how to undo the edit of a file. It is in the data directory and not in the project, because a
// repository could otherwise ship a record that names files to delete.
type record struct {
	File string `json:"file"`
	// A record of the first release names no harness. It belongs to OpenCode.
	Harness schema.Harness `json:"harness,omitempty"`
	Spec    string         `json:"spec"`
	// If the file did not exist (IsNew), there is no backup.
	IsNew bool `json:"is_new,omitzero"`
	// Installed is the hash of the edited file. Backup is the hash of the backup.
	Installed    string `json:"installed"`
	Backup       string `json:"backup,omitempty"`
	Former       former `json:"former"`
	Settings     string `json:"settings,omitempty"`
	SettingsHash string `json:"settings_hash,omitempty"`
	// UsesShim means that the plugin is the shim in the data directory.
	UsesShim bool `json:"uses_shim,omitzero"`
	// Loader is the loader that the installation wrote into the project.
	Loader     string `json:"loader,omitempty"`
	LoaderHash string `json:"loader_hash,omitempty"`
	// Terminal is the loader for OpenCode's terminal interface.
	Terminal     string `json:"terminal,omitempty"`
	TerminalHash string `json:"terminal_hash,omitempty"`
	// NewDirectory is the harness's directory, if the installation made it.
	NewDirectory string `json:"new_directory,omitempty"`
}

type vault struct {
	place          Place
	file           string // the edited file, with the real path of its directory
	record, backup string // the paths of the record and the backup
}

func (p Place) vault(file string) (vault, error) {
	if !filepath.IsAbs(p.DataDir) {
		return vault{}, errors.New("no data directory for the record of the installation")
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = filepath.Dir(file), nil
	}
	if err != nil {
		return vault{}, fmt.Errorf("find the record of %s: %w", file, err)
	}
	file = filepath.Join(dir, filepath.Base(file))
	name := filepath.Join(p.DataDir, "installed", hash([]byte(file))[:32])
	return vault{place: p, file: file, record: name + ".json", backup: name + ".backup"}, nil
}

func (v vault) readRecord() (*record, error) {
	content, err := readOwn(v.record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of %s: %w", v.file, err)
	}
	r := new(record)
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", v.record, err)
	}
	if r.File != v.file {
		return nil, fmt.Errorf("read %s: it is of %s, not of %s", v.record, r.File, v.file)
	}
	return r, nil
}

func (v vault) readBackup(r *record) ([]byte, error) {
	content, err := readOwn(v.backup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the backup of %s: %w", v.file, err)
	}
	if hash(content) != r.Backup {
		return nil, nil
	}
	return content, nil
}

func (v vault) checkBackup(earlier *record) error {
	content, err := readOwn(v.backup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && earlier != nil && hash(content) == earlier.Backup {
		return nil
	}
	return fmt.Errorf("%s exists and is no backup of this program; move it away", v.backup)
}

func (v vault) write(r *record, backup []byte) error {
	if backup != nil {
		if err := writeOwn(v.backup, backup); err != nil {
			return err
		}
	}
	content, err := json.MarshalIndent(r)
	if err != nil {
		return err
	}
	return writeOwn(v.record, append(content, '\n'))
}

func (v vault) forget() error {
	err := errors.Join(removeFile(v.record), removeFile(v.backup))
	os.Remove(filepath.Dir(v.record)) // this fails while the directory holds records of other files
	return err
}

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

// withoutUs returns the content that a configuration would have without our changes, or nil if the file would not exist
// without us. `exact` means that this content equals the former file byte for byte.
func (v vault) withoutUs(r *record, content []byte) (before []byte, exact bool, err error) {
	backup, err := v.readBackup(r)
	if err != nil {
		return nil, false, err
	}
	switch untouched := hash(content) == r.Installed; {
	case untouched && r.IsNew:
		return nil, true, nil
	case backup != nil && (untouched || bytes.Equal(content, backup)):
		return backup, true, nil
	}
	d, err := jsonc.ParseDocument(v.file, content)
	if err != nil {
		return nil, false, err
	}
	if err := (configuration{d, v.place}).disable(r.Spec, r.Former); err != nil {
		return nil, false, err
	}
	before = d.Bytes()
	if r.IsNew && bytes.Equal(bytes.TrimSpace(before), bytes.TrimSpace([]byte(v.place.Harness.newFile))) {
		return nil, true, nil
	}
	return before, false, nil
}
