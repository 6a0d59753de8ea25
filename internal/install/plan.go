package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/regular"
)

var (
	ErrChanged      = errors.New("the file was edited in the meantime; nothing was changed, try again")
	ErrNotInstalled = errors.New("magicctx is not installed here")
)

type Plan struct {
	// File is the path that the harness uses. Real is the path without links, to which Apply writes.
	File, Real string
	// nil means that the file does not exist.
	Before, After []byte
	// Settings is a new magicctx.jsonc, or nil. If the user does not want this file, the caller sets Settings to nil
	// before Apply.
	Settings *Settings
	Notes    []string

	panel  *Plan   // the change to the list of plugins that the harness's screen loads, or nil
	record *record // an installation writes it, a removal deletes it
	vault  vault
	remove bool
	backup []byte    // the backup to write; nil writes none
	files  []ownFile // files of the shim to write
	shim   []string  // files of the shim that a removal deletes
}

// Diff returns a unified diff with the file's real path, or "" if nothing changes.
func (p *Plan) Diff(colored bool) string {
	if p == nil {
		return ""
	}
	before, after := p.Real, p.Real
	if p.Before == nil {
		before = "/dev/null"
	}
	if p.After == nil {
		after = "/dev/null"
	}
	return format.Diff(before, after, string(p.Before), string(p.After), colored) + p.panel.Diff(colored)
}

type Effect struct {
	Action string // "create", "change" or "delete"
	Path   string // without links
	// The caller may leave out the settings and their schema.
	IsOffered bool
}

// Effects lists every file that Apply writes or deletes, in the order in which Apply does so.
func (p *Plan) Effects() []Effect {
	switch {
	case p.panel == nil:
		return p.effects()
	case p.remove:
		return append(p.panel.effects(), p.effects()...)
	}
	return append(p.effects(), p.panel.effects()...)
}

func (p *Plan) effects() []Effect {
	var all []Effect
	writes := func(path string) {
		action := "change"
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			action = "create"
		}
		all = append(all, Effect{Action: action, Path: path})
	}
	deletes := func(path string) {
		if _, err := os.Lstat(path); err == nil {
			all = append(all, Effect{Action: "delete", Path: path})
		}
	}
	switch {
	case p.record == nil && len(p.files) == 0:
	case p.remove:
		if p.ownsSettings() {
			deletes(p.record.Settings)
		}
		if p.After == nil {
			deletes(p.Real)
		} else if !bytes.Equal(p.After, p.Before) {
			writes(p.Real)
		}
		for _, file := range p.record.ownLoaders(p.place()) {
			deletes(file)
		}
		for _, file := range p.shim {
			deletes(file)
		}
		deletes(p.vault.record)
		deletes(p.vault.backup)
	default:
		for _, f := range p.files {
			writes(f.path)
		}
		if p.record == nil { // the configuration already has the wanted content
			break
		}
		if p.Settings != nil {
			for _, f := range p.Settings.files() {
				if differs, err := f.differs(); differs || err != nil {
					writes(f.path)
					all[len(all)-1].IsOffered = true
				}
			}
		}
		if p.backup != nil {
			writes(p.vault.backup)
		}
		writes(p.vault.record)
		if !bytes.Equal(p.After, p.Before) {
			writes(p.Real)
		}
	}
	return all
}

func (p *Plan) place() Place { return p.vault.place }

func (p *Plan) IsEmpty() bool {
	return p.record == nil && len(p.files) == 0 && (p.panel == nil || p.panel.IsEmpty())
}

// If a link leads out of the project, newPlan returns an error: the user has agreed to a change of the project only.
func (p Place) newPlan(file string) (*Plan, error) {
	v, err := p.vault(file)
	if err != nil {
		return nil, err
	}
	real, err := regular.RealPath(file)
	if err != nil {
		return nil, fmt.Errorf("find the configuration: %w", err)
	}
	if err := p.checkInside(file, real); err != nil {
		return nil, err
	}
	return &Plan{File: file, Real: real, vault: v}, nil
}

func (p Place) checkInside(file, real string) error {
	if p.Project == "" {
		return nil
	}
	project, err := regular.RealPath(p.Project)
	if err != nil {
		return fmt.Errorf("find the project: %w", err)
	}
	if inside, err := filepath.Rel(project, real); err != nil || !filepath.IsLocal(inside) {
		return fmt.Errorf("%s leads out of the project, to %s; if you want that, edit it by hand", file, real)
	}
	return nil
}

// If somebody has edited the file after the plan, Apply returns ErrChanged.
func (p *Plan) Apply() error {
	all := []*Plan{p}
	if p.panel != nil {
		all = append(all, p.panel)
	}
	if p.remove {
		slices.Reverse(all) // a list must not name a plugin that is gone
	}
	all = slices.DeleteFunc(all, func(p *Plan) bool { return p.record == nil && len(p.files) == 0 })
	for _, one := range all {
		if err := errors.Join(one.verify(), regular.CheckWritable(one.Real)); err != nil {
			return err
		}
	}
	for _, one := range all {
		if err := one.apply(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) apply() error {
	if p.remove {
		return p.applyRemoval()
	}
	// The configuration must not name a plugin that does not exist, so the plugin is written first.
	for _, f := range p.files {
		if err := f.write(); err != nil {
			return err
		}
	}
	if p.record == nil {
		return nil
	}
	perm := fs.FileMode(0o644)
	if info, err := os.Stat(p.File); err == nil {
		perm = info.Mode().Perm()
	}
	if p.Settings != nil {
		if err := p.Settings.write(); err != nil {
			return err
		}
		p.record.Settings, p.record.SettingsHash = p.Settings.File, hash(p.Settings.Content)
	}
	// The record is written before the edit, because an edit without its record cannot be undone.
	if err := p.vault.write(p.record, p.backup); err != nil {
		return err
	}
	if bytes.Equal(p.After, p.Before) {
		return nil
	}
	if err := p.verify(); err != nil {
		return err
	}
	return regular.Replace(p.Real, p.After, perm)
}

func (p *Plan) verify() error {
	if real, err := regular.RealPath(p.File); err != nil || real != p.Real {
		return fmt.Errorf("%s: it led to %s: %w", p.File, p.Real, errors.Join(ErrChanged, err))
	}
	now, err := readFile(p.File)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	if (now == nil) != (p.Before == nil) || !bytes.Equal(now, p.Before) {
		return fmt.Errorf("%s: %w", p.File, ErrChanged)
	}
	return nil
}

func isLink(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
