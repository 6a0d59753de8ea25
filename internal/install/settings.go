package install

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/install/template"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/schema"
)

// Settings is a new file magicctx.jsonc, which shows every default as a comment. A user's file also names a JSON Schema
// on this machine, so that editors know the keys without a network. A project's file names no schema.
type Settings struct {
	File    string
	Content []byte

	schemaFile string // the name of the schema's file, empty for none
	schema     []byte
}

// newSettings plans a new settings file. If there is already a settings file, it returns nil, because the new file
// could hide the old one.
func newSettings(o Options) (*Settings, error) {
	dirs, err := o.directories()
	if err != nil {
		return nil, err
	}
	dir := dirs[0]
	if o.Project != "" {
		dir = o.Project // all harnesses read this file
	}
	for _, file := range o.settingsCandidates() {
		if _, err := os.Lstat(file); err == nil {
			return nil, nil
		}
	}
	content, err := schema.JSONSchema("config")
	if err != nil {
		return nil, err
	}
	file, err := regular.RealPath(filepath.Join(dir, "magicctx.jsonc"))
	if err != nil {
		return nil, fmt.Errorf("place the settings: %w", err)
	}
	s := &Settings{File: file}
	schemaURL := ""
	if o.Project == "" { // a project's file may be committed, so it names no path of this machine
		s.schemaFile, s.schema = o.schemaFile(), content
		schemaURL = fileURL(s.schemaFile)
	}
	s.Content, err = template.Settings(content, schemaURL, o.Project != "")
	return s, err
}

// For a project, settingsCandidates returns the paths of all harnesses.
func (p Place) settingsCandidates() (files []string) {
	if p.Project == "" {
		files, _ = config.Candidates(config.Options{Harness: p.Harness.ID, Env: p.Env})
		return files
	}
	for _, h := range Harnesses {
		_, project := config.Candidates(config.Options{Harness: h.ID, Directory: p.Project, Env: p.Env})
		files = append(files, project...)
	}
	return files
}

func (p Place) schemaFile() string { return filepath.Join(p.DataDir, "magicctx.schema.json") }

// The method `write` creates the file, unless a settings file has appeared since the plan was made.
func (s *Settings) write() error {
	if _, err := os.Lstat(s.File); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", s.File, ErrChanged)
	}
	for _, f := range s.files() {
		if err := f.write(); err != nil {
			return err
		}
	}
	return nil
}

// The method `files` returns the files to write. The schema must be first, because the settings name it.
func (s *Settings) files() (all []ownFile) {
	if s.schema != nil {
		all = append(all, ownFile{s.schemaFile, s.schema, 0o600})
	}
	return append(all, ownFile{s.File, s.Content, 0o644})
}

func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a Windows path such as C:/x
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
