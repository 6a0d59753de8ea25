package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/magicctx/magicctx-host/internal/jsonc"
)

type Options struct {
	Place
	// Plugin is a spec that the user has named. It replaces an entry that loads the shim from another path. If Plugin
	// is empty, the installation uses Shim.
	Plugin string
	Shim   Shim
}

// Install plans to add the shim to a configuration. If a person must solve a problem first, it returns a
// *ConflictError.
func Install(ctx context.Context, o Options) (*Plan, error) {
	p, d, err := begin(o.Place)
	if err != nil {
		return nil, err
	}
	conflicts, err := findConflicts(ctx, o.Place, d)
	if err != nil {
		return nil, err
	}
	if conflicts = append(conflicts, d.loadedTwice()...); len(conflicts) > 0 {
		conflict := &ConflictError{Conflicts: conflicts, Harness: o.Harness.Name}
		if restore, err := RestoreCompaction(ctx, o.Place); err == nil && !restore.IsEmpty() {
			conflict.CompactionOff = restore.File
		}
		return nil, conflict
	}
	earlier, err := p.earlier()
	if err != nil {
		return nil, err
	}
	spec, isChosen := o.Plugin, o.Plugin != ""
	var files []ownFile
	if !isChosen {
		if files, spec, err = o.shimFiles(o.Shim, p.Real); err != nil {
			return nil, err
		}
	}
	// The new spec may replace the entry of an earlier installation, but not an entry of the user.
	replace := func(entry string) bool {
		return isChosen || o.isStale(p.File, entry) || earlier.Spec != "" && o.sameSpec(p.File, entry, earlier.Spec)
	}
	if err := d.enable(spec, earlier.Spec, replace); err != nil {
		return nil, err
	}
	plugins, err := d.plugins()
	if err != nil {
		return nil, err
	}
	entry := mustText(*o.specOf(&plugins.Elements[o.ownEntry(p.File, plugins, spec, earlier.Spec)]))
	usesShim := !isChosen && o.sameSpec(p.File, entry, spec)
	if usesShim {
		if err := o.checkLoader(files, earlier); err != nil {
			return nil, err
		}
		p.files = files
	} else if !isChosen {
		p.Notes = append(p.Notes, fmt.Sprintf("%s loads the plugin from %s, which you have listed yourself. To use the one of this program, remove that entry and install again.", o.Harness.Name, entry))
	}
	o.addPanel(p, entry, usesShim)
	after := d.Bytes()
	if bytes.Equal(after, p.Before) && (earlier.Spec != "" || !usesShim) {
		p.After = p.Before
		if len(o.loadersAmong(files)) > 0 && usesShim { // the loader was deleted, or is of another version
			renewed := *earlier
			renewed.recordLoader(p, earlier)
			p.record = &renewed
		}
		return p, nil
	}
	p.After = after
	if err := p.recordInstallation(d, spec, earlier); err != nil {
		return nil, err
	}
	p.record.UsesShim = usesShim
	if usesShim {
		p.record.recordLoader(p, earlier)
	}
	p.record.NewDirectory = o.newDirectory(p.File, earlier)
	if o.Project != "" && o.Harness.projectNote != "" {
		p.Notes = append(p.Notes, o.Harness.projectNote)
	}
	p.Settings, err = newSettings(o)
	return p, err
}

func begin(p Place) (*Plan, configuration, error) {
	var none configuration
	file, err := p.target()
	if err != nil {
		return nil, none, err
	}
	plan, err := p.newPlan(file)
	if err != nil {
		return nil, none, err
	}
	content, err := readFile(file)
	switch {
	case err == nil:
		plan.Before = content
	case !errors.Is(err, fs.ErrNotExist):
		return nil, none, err
	case isLink(file):
		return nil, none, fmt.Errorf("%s is a link to a file that does not exist", file)
	default:
		content = []byte(p.Harness.newFile)
	}
	d, err := p.parseStrictly(file, content)
	return plan, d, err
}

func (p *Plan) earlier() (*record, error) {
	r, err := p.vault.readRecord()
	if err != nil {
		return nil, err
	}
	if err := p.vault.checkBackup(r); err != nil || r != nil {
		return r, err
	}
	return new(record), nil
}

// newDirectory returns the harness's directory if this or the earlier installation creates it, otherwise "".
func (p Place) newDirectory(file string, earlier *record) string {
	dir := filepath.Dir(file)
	if p.Project != "" {
		dir = filepath.Join(p.Project, p.Harness.projectDirectory)
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return dir
	}
	return earlier.NewDirectory
}

// recordLoader records only files that the plan writes. So an uninstallation does not remove a loader that was already
// part of a repository.
func (r *record) recordLoader(p *Plan, earlier *record) {
	r.Loader, r.LoaderHash, r.Terminal, r.TerminalHash = earlier.Loader, earlier.LoaderHash, earlier.Terminal, earlier.TerminalHash
	for _, f := range p.place().loadersAmong(p.files) {
		if filepath.Base(f.path) == terminalName {
			r.Terminal, r.TerminalHash = f.path, hash(f.content)
		} else {
			r.Loader, r.LoaderHash = f.path, hash(f.content)
		}
	}
}

// `earlier` is the record of the previous installation, or an empty one.
func (p *Plan) recordInstallation(edited configuration, spec string, earlier *record) (err error) {
	place := p.place()
	p.backup = p.Before
	p.record = &record{File: p.vault.file, Harness: place.Harness.ID, Installed: hash(p.After), IsNew: p.Before == nil}
	if earlier.Spec != "" && p.Before != nil {
		if p.backup, _, err = p.vault.withoutUs(earlier, p.Before); err != nil {
			return err
		}
		p.record.IsNew = p.backup == nil
		p.record.Settings, p.record.SettingsHash = earlier.Settings, earlier.SettingsHash
	}
	plugins, err := edited.plugins()
	if err != nil {
		return err
	}
	entry := place.specOf(&plugins.Elements[place.ownEntry(p.File, plugins, spec, earlier.Spec)])
	p.record.Spec = mustText(*entry)

	if p.backup != nil {
		p.record.Backup = hash(p.backup)
	}
	original := p.backup
	if original == nil {
		original = []byte(place.Harness.newFile)
	}
	d, err := jsonc.ParseDocument(p.File, original)
	if err != nil {
		return err
	}
	p.record.Former, err = configuration{d, place}.former(p.record.Spec)
	return err
}
