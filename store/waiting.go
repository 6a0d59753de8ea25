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

// While another program holds a lock on the database, no pass can be stored. The pass still answers, so the wire
// contains tags that no row records. If the host is killed then, the next host gives these tags again, in the order of
// the transcript. So as long as the transcript is the same, each unit gets the same tag. But if the user has removed
// messages in the meantime, the model would see a tag on other content than before.
//
// Sending the wire without the new tags does not help, because adding them later would change messages that were
// already sent. Reserving a range of numbers in advance does not help either: a new host cannot know how many of these
// numbers the last host has shown. If it skipped all of them, units that were already sent would get other tags after
// each kill.
//
// The units therefore wait in a file beside the database, one file for each session whose pass could not be stored.
// Load reads the file, and the next write that stores the units removes it. Like the database, the file survives a
// killed process. Unlike the database, it may be lost in a power cut.

// Waiting manages the files with units that could not be stored.
type Waiting struct {
	db *database.DB
	// has holds the sessions that have a file of waiting units. There are only a few. Without this set, each pass would
	// have to look at the disk.
	has sync.Map
}

// Keep writes units to the session's file, because the database could not store them. They replace the units in
// that file.
func (s *Waiting) Keep(key Key, units []UnitRow) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(units); err != nil {
		return fmt.Errorf("keep the waiting units of %s: %w", key, err)
	}
	s.has.Store(key, true)
	name := s.path(key)
	// Write to a temporary file and rename it. If the host is killed meanwhile, the file is there either
	// completely or not at all.
	err := os.WriteFile(name+".tmp", b.Bytes(), file.Mode)
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		return fmt.Errorf("keep the waiting units of %s: %w", key, err)
	}
	return nil
}

// of returns the waiting units that are not in stored, in the order of their tags. A unit may be in both
// if a host was killed after storing it and before removing the file.
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

// Forget removes the session's file. A failure does no harm, because (*Waiting).of leaves out units that are stored.
func (s *Waiting) Forget(key Key) {
	s.has.Delete(key)
	if err := os.Remove(s.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.db.Log.Warn("file of stored units not removed", "session", key.Session, "error", err)
	}
}

// path names the file by a hash, because a session's id may contain characters that are not allowed in
// a file name.
func (s *Waiting) path(key Key) string {
	sum := sha256.Sum256([]byte(key.Harness + "\x00" + key.Session))
	return s.db.Path() + ".waiting-" + hex.EncodeToString(sum[:8])
}

// ForgetOld removes the files of waiting units that were not written since a given time (before). No session
// needs them: a session that is still used either writes its file again or stores the units.
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
