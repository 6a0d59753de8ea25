package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// While another program locks the database, the host answers a pass without storing it, so no row records the pass's
// tags. If the host is then killed, the next host numbers the units again, in the order of the transcript. Usually they
// get the same tags. But if the user has removed messages in the meantime, a tag that the model has seen would now be
// on different content.
//
// Two simpler solutions do not work. The host could leave the new tags out of the wire. But it would have to add them
// later, which would change messages that were already sent. Or the host could reserve a range of tags in advance. But
// a new host would not know how many of these tags the model had seen. If it skipped the whole range, units that the
// model knows by one tag would get another tag after each kill.
//
// So the units wait in a file next to the database, one file for each session. Load reads the file, and the next write
// that stores the units removes the file. A killed process does not lose the file, but a power cut may.

// Waiting manages the files with units that could not be stored.
type Waiting struct {
	db *database.DB
	// The keys of `has` are the sessions that have a file. A pass of any other session does not have to look at the
	// disk. Usually, no session has a file.
	has sync.Map
}

// Keep replaces the units in the session's file.
func (s *Waiting) Keep(key Key, units []UnitRow) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(units); err != nil {
		return fmt.Errorf("keep the waiting units of %s: %w", key, err)
	}
	s.has.Store(key, true)
	name := s.path(key)
	// The rename makes sure that the file is complete, even if the host is killed.
	err := os.WriteFile(name+".tmp", b.Bytes(), file.Mode)
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		return fmt.Errorf("keep the waiting units of %s: %w", key, err)
	}
	return nil
}

// The method `of` returns the units in the session's file, in the order of their tags. It leaves out units that are
// also in `stored`. The host may have stored these units, and then have been killed before it removed the file.
func (s *Waiting) of(key Key, stored []UnitRow) ([]UnitRow, error) {
	if err := file.CheckFile(s.path(key)); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s.has.Store(key, true)
	var units []UnitRow
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(&units)
	}
	if err != nil {
		return nil, fmt.Errorf("read the waiting units: %w", err)
	}
	tags, keys := make(map[int]bool, len(stored)), make(map[string]bool, len(stored))
	for _, u := range stored {
		tags[u.Tag], keys[u.UnitKey] = true, true
	}
	return slices.DeleteFunc(units, func(u UnitRow) bool { return tags[u.Tag] || keys[u.UnitKey] }), nil
}

// Forget removes the session's file. A failure does no harm, because (*Waiting).of leaves out stored units.
func (s *Waiting) Forget(key Key) {
	s.has.Delete(key)
	if err := os.Remove(s.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.db.Log.Warn("file of stored units not removed", "session", key.Session, "error", err)
	}
}

// A session's id may contain characters that no file name may have, so the name is a hash.
func (s *Waiting) path(key Key) string {
	sum := sha256.Sum256([]byte(key.Harness + "\x00" + key.Session))
	return s.db.Path() + ".waiting-" + hex.EncodeToString(sum[:8])
}

// ForgetOld removes files that were last written before the given time. A session that is still in use is not affected,
// because it writes its file again or stores the units.
func (s *Waiting) ForgetOld(before time.Time) error {
	dir, base := filepath.Split(s.db.Path())
	files, err := fs.Glob(os.DirFS(dir), base+".waiting-*")
	if err != nil {
		return fmt.Errorf("find files of waiting units: %w", err)
	}
	var errs []error
	for _, name := range files {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.ModTime().Before(before) {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
