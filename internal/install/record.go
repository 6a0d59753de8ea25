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

// A record tells how to undo the edit of a file. It is in the user's data directory, together with the
// backup. It must not be beside the file: a repository could ship a record there that names files to
// delete.
type record struct {
	// File is the edited file.
	File string `json:"file"`
	// Harness is the harness that reads the file. Records of the first release name no harness, because
	// they all belong to OpenCode.
	Harness schema.Harness `json:"harness,omitempty"`
	// Spec is the plugin entry that we inserted.
	Spec string `json:"spec"`
	// IsNew is true if the file did not exist. Then there is no backup.
	IsNew bool `json:"is_new,omitzero"`
	// Installed is the hash of the edited file, and Backup is the hash of the backup.
	Installed string `json:"installed"`
	Backup    string `json:"backup,omitempty"`
	Former    former `json:"former"`
	// Settings is the path of the magicctx.jsonc that was created, and SettingsHash is its hash.
	Settings     string `json:"settings,omitempty"`
	SettingsHash string `json:"settings_hash,omitempty"`
	// UsesShim is true if the plugin is the shim in the data directory.
	UsesShim bool `json:"uses_shim,omitzero"`
	// Loader is the path of the loader that was written into the project, and LoaderHash is its hash.
	Loader     string `json:"loader,omitempty"`
	LoaderHash string `json:"loader_hash,omitempty"`
	// Terminal is the path of the loader for OpenCode's terminal interface, and TerminalHash is its hash.
	Terminal     string `json:"terminal,omitempty"`
	TerminalHash string `json:"terminal_hash,omitempty"`
	// NewDirectory is the path of the harness's directory, if the installation made it.
	NewDirectory string `json:"new_directory,omitempty"`
}

// A vault holds the record and the backup of one edited file.
type vault struct {
	place          Place
	file           string // the edited file, with the real path of its directory
	record, backup string // the paths of the record and the backup
}

// vault returns the vault of a configuration file.
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

// readRecord returns the record, nil if there is none.
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

// readBackup returns the backup that belongs to the record, nil if it is gone or was changed.
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

// checkBackup returns an error if the new backup would replace a file that no installation wrote.
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

// write stores the backup, if there is one, and then the record.
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

// forget removes the record and the backup.
func (v vault) forget() error {
	err := errors.Join(removeFile(v.record), removeFile(v.backup))
	os.Remove(filepath.Dir(v.record)) // this fails while the directory holds records of other files
	return err
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

// withoutUs returns the content that a configuration would have without our changes. exact is true if the content
// equals the former file byte for byte. If the file would not exist, withoutUs returns nil.
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
