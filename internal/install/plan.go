package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// newFile is the first content of a new opencode.json. If a file has a "$schema", OpenCode does not
// edit it by itself.
const newFile = "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n"

var (
	// ErrChanged means that the file was edited after the plan was made. Nothing was written.
	ErrChanged = errors.New("the file was edited in the meantime; nothing was changed, try again")
	// ErrNotInstalled means that there is no installation to remove.
	ErrNotInstalled = errors.New("magicctx is not installed here")
)

// A Plan is a change to a configuration that has not been applied yet.
type Plan struct {
	// File is the configuration as OpenCode finds it. Real is its path without links, which is written.
	File, Real string
	// Before and After are the contents of File. nil means that the file does not exist.
	Before, After []byte
	// Settings is the magicctx.jsonc to create together with the change, nil for none. The caller may
	// set it to nil.
	Settings *Settings
	// Notes are sentences to show to the user.
	Notes []string

	record *record // an installation writes it, a removal deletes it
	vault  vault
	remove bool
	backup []byte // the backup to write; nil writes none
}

// An Effect is a file that a plan writes or deletes.
type Effect struct {
	Action string // "create", "change" or "delete"
	Path   string // without links
}

// Effects lists every file that Apply writes or deletes, in its order.
func (p *Plan) Effects() []Effect {
	var all []Effect
	writes := func(path string) {
		action := "change"
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			action = "create"
		}
		all = append(all, Effect{action, path})
	}
	deletes := func(path string) {
		if _, err := os.Lstat(path); err == nil {
			all = append(all, Effect{"delete", path})
		}
	}
	switch {
	case p.IsEmpty():
	case p.remove:
		if p.ownsSettings() {
			deletes(p.record.Settings)
		}
		if p.After == nil {
			deletes(p.Real)
		} else if !bytes.Equal(p.After, p.Before) {
			writes(p.Real)
		}
		deletes(p.vault.record)
		deletes(p.vault.backup)
	default:
		if p.Settings != nil {
			writes(p.Settings.schemaFile)
			writes(p.Settings.File)
		}
		if p.backup != nil {
			writes(p.vault.backup)
		}
		writes(p.vault.record)
		writes(p.Real)
	}
	return all
}

// IsEmpty reports whether there is nothing to do.
func (p *Plan) IsEmpty() bool { return p.record == nil }

// Options are the inputs of Install.
type Options struct {
	Place
	// Plugin is the plugin spec of the shim.
	Plugin string
	// IsChosen is true if the user named the plugin. Then it replaces an entry that loads the shim from
	// another path.
	IsChosen bool
}

// Install plans to add the shim to OpenCode's configuration. If a person has to solve a problem first,
// the error is a *ConflictError. A syntax error names file:line:column.
func Install(ctx context.Context, o Options) (*Plan, error) {
	file, err := o.target()
	if err != nil {
		return nil, err
	}
	p, err := o.newPlan(file)
	if err != nil {
		return nil, err
	}
	content, err := readFile(file)
	switch {
	case err == nil:
		p.Before = content
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case isLink(file):
		return nil, fmt.Errorf("%s is a link to a file that does not exist", file)
	default:
		content = []byte(newFile)
	}
	d, err := parseDocument(file, content)
	if err != nil {
		return nil, err
	}
	conflicts, err := findConflicts(ctx, o.Place, d)
	if err != nil {
		return nil, err
	}
	if len(conflicts) > 0 {
		conflict := &ConflictError{Conflicts: conflicts}
		if restore, err := RestoreCompaction(ctx, o.Place); err == nil && !restore.IsEmpty() {
			conflict.CompactionOff = restore.File
		}
		return nil, conflict
	}
	earlier, err := p.vault.readRecord()
	if err != nil {
		return nil, err
	}
	if err := p.vault.checkBackup(earlier); err != nil {
		return nil, err
	}
	if earlier == nil {
		earlier = new(record)
	}
	replace := func(entry string) bool { return o.IsChosen || isStale(file, entry) }
	if err := enable(d, o.Plugin, earlier.Spec, replace); err != nil {
		return nil, err
	}
	after := d.bytes()
	if bytes.Equal(after, p.Before) {
		p.After = p.Before
		return p, nil
	}
	p.After = after
	if err := p.recordInstallation(d, o.Plugin, earlier); err != nil {
		return nil, err
	}
	p.Settings, err = newSettings(o)
	return p, err
}

// newPlan returns an empty plan for a file. A project's file must lie in the project: its directory may
// hold links, and the user has agreed to a change of the project only.
func (p Place) newPlan(file string) (*Plan, error) {
	v, err := p.vault(file)
	if err != nil {
		return nil, err
	}
	real, err := realPath(file)
	if err != nil {
		return nil, fmt.Errorf("find the configuration: %w", err)
	}
	if p.Project != "" {
		project, err := realPath(p.Project)
		if err != nil {
			return nil, fmt.Errorf("find the project: %w", err)
		}
		if inside, err := filepath.Rel(project, real); err != nil || !filepath.IsLocal(inside) {
			return nil, fmt.Errorf("%s leads out of the project, to %s; if you want that, edit it by hand", file, real)
		}
	}
	return &Plan{File: file, Real: real, vault: v}, nil
}

// recordInstallation prepares the backup and the record for an edited document. earlier is the record
// of the previous installation, or an empty one.
func (p *Plan) recordInstallation(edited *document, spec string, earlier *record) (err error) {
	p.backup = p.Before
	p.record = &record{File: p.vault.file, Installed: hash(p.After), IsNew: p.Before == nil}
	if earlier.Spec != "" && p.Before != nil {
		if p.backup, _, err = p.vault.withoutUs(earlier, p.Before); err != nil {
			return err
		}
		p.record.IsNew = p.backup == nil
		p.record.Settings, p.record.SettingsHash = earlier.Settings, earlier.SettingsHash
	}
	plugins, err := pluginsOf(edited)
	if err != nil {
		return err
	}
	entry := specOf(&plugins.Elements[ownEntry(p.File, plugins, spec, earlier.Spec)])
	p.record.Spec = mustText(*entry)

	if p.backup != nil {
		p.record.Backup = hash(p.backup)
	}
	original := p.backup
	if original == nil {
		original = []byte(newFile)
	}
	d, err := parseDocument(p.File, original)
	if err != nil {
		return err
	}
	p.record.Former, err = formerOf(d, p.record.Spec)
	return err
}

// Uninstall plans to take the shim out again. A file that was not edited since gets its former bytes
// back. From an edited file, only our changes are removed. If nothing is installed at the place, the
// error is ErrNotInstalled.
func Uninstall(ctx context.Context, place Place) (*Plan, error) {
	file, r, err := place.installed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := place.newPlan(file)
	if err != nil {
		return nil, err
	}
	p.record, p.remove = r, true
	p.Before, err = readFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.IsNew:
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is gone; what it was before the installation is in %s", file, p.vault.backup)
	case err != nil:
		return nil, err
	default:
		var exact bool
		if p.After, exact, err = p.vault.withoutUs(r, p.Before); err != nil {
			return nil, err
		}
		if !exact {
			p.Notes = append(p.Notes, "The file was edited after the installation: only the changes of the installation are undone.")
		}
	}
	if r.Former.Entry != "" {
		p.Notes = append(p.Notes, fmt.Sprintf("The plugin %s was listed before the installation and stays; remove it by hand.", r.Former.Entry))
	}
	if r.Settings != "" && !p.ownsSettings() {
		if _, err := os.Stat(r.Settings); err == nil {
			p.Notes = append(p.Notes, fmt.Sprintf("Your settings stay in %s.", r.Settings))
		}
	}
	return p, nil
}

// installed returns the file that an installation has edited at the place.
func (p Place) installed(ctx context.Context) (string, *record, error) {
	dirs, err := p.directories()
	if err != nil {
		return "", nil, err
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, configurations(dir)...)
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return "", nil, fmt.Errorf("look for the installation: %w", context.Cause(ctx))
		}
		v, err := p.vault(file)
		if err != nil {
			return "", nil, err
		}
		if r, err := v.readRecord(); r != nil || err != nil {
			return file, r, err
		}
	}
	for _, file := range files {
		d, err := readDocument(file)
		if err != nil {
			continue
		}
		plugins, err := pluginsOf(d)
		if err != nil || plugins == nil {
			continue
		}
		if i := ownEntry(file, plugins); i >= 0 {
			entry := specOf(&plugins.Elements[i])
			return "", nil, fmt.Errorf("%s: %s was not added by install; remove it from \"plugin\" by hand", d.position(*entry), mustText(*entry))
		}
	}
	return "", nil, ErrNotInstalled
}

// ownsSettings reports whether the settings file still has the content with which it was created.
func (p *Plan) ownsSettings() bool {
	if p.record.Settings == "" {
		return false
	}
	content, err := readOwn(p.record.Settings)
	return err == nil && hash(content) == p.record.SettingsHash
}

// Apply makes the change. If somebody has edited the file in the meantime, it returns ErrChanged.
func (p *Plan) Apply() error {
	if p.IsEmpty() {
		return nil
	}
	if err := p.verify(); err != nil {
		return err
	}
	if err := checkWritable(p.Real); err != nil {
		return err
	}
	if p.remove {
		return p.applyRemoval()
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
	// The record goes first: a record without its edit does no harm, but an edit without its record
	// cannot be undone.
	if err := p.vault.write(p.record, p.backup); err != nil {
		return err
	}
	if err := p.verify(); err != nil {
		return err
	}
	return replaceFile(p.Real, p.After, perm)
}

func (p *Plan) applyRemoval() error {
	if p.ownsSettings() {
		if err := removeFile(p.record.Settings); err != nil {
			return err
		}
	}
	var err error
	switch {
	case p.After == nil:
		err = removeFile(p.Real)
	case !bytes.Equal(p.After, p.Before):
		err = replaceFile(p.Real, p.After, 0o644)
	}
	if err != nil {
		return err
	}
	return p.vault.forget()
}

// verify checks that the file still has the content for which the plan was made.
func (p *Plan) verify() error {
	if real, err := realPath(p.File); err != nil || real != p.Real {
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
