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

var (
	// ErrChanged means that the file was edited after the plan was made. Nothing was written.
	ErrChanged = errors.New("the file was edited in the meantime; nothing was changed, try again")
	// ErrNotInstalled means that there is no installation to remove.
	ErrNotInstalled = errors.New("magicctx is not installed here")
)

// A Plan is a change to a configuration that has not been applied yet.
type Plan struct {
	// File is the configuration as the harness finds it. Real is its path without links, which is written.
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
	backup []byte    // the backup to write; nil writes none
	files  []ownFile // files of the shim to write
	shim   []string  // files of the shim that a removal deletes
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
		if p.ownsLoader() {
			deletes(p.record.Loader)
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
		if p.record == nil { // the configuration is as it has to be
			break
		}
		if p.Settings != nil {
			if p.Settings.schemaFile != "" {
				writes(p.Settings.schemaFile)
			}
			writes(p.Settings.File)
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

// IsEmpty reports whether there is nothing to do.
func (p *Plan) IsEmpty() bool { return p.record == nil && len(p.files) == 0 }

// Options are the inputs of Install.
type Options struct {
	Place
	// Plugin is the plugin spec of a shim that the user named. It replaces an entry that loads the shim
	// from another path. Empty means Shim.
	Plugin string
	// Shim is the shim to install if the user named none.
	Shim Shim
}

// Install plans to add the shim to a harness's configuration. If a person has to solve a problem first,
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
		content = []byte(o.Harness.newFile)
	}
	d, err := o.parseStrictly(file, content)
	if err != nil {
		return nil, err
	}
	conflicts, err := findConflicts(ctx, o.Place, d)
	if err != nil {
		return nil, err
	}
	if conflicts = append(conflicts, o.loadedTwice(d)...); len(conflicts) > 0 {
		conflict := &ConflictError{Conflicts: conflicts, Harness: o.Harness.Name}
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
	spec, isChosen := o.Plugin, o.Plugin != ""
	var files []ownFile
	if !isChosen {
		if files, spec, err = o.shimFiles(o.Shim, p.Real); err != nil {
			return nil, err
		}
	}
	// If an earlier installation wrote the entry, this one may replace it. If the user wrote it, it stays.
	replace := func(entry string) bool {
		return isChosen || o.isStale(file, entry) || earlier.Spec != "" && o.sameSpec(file, entry, earlier.Spec)
	}
	if err := o.enable(d, spec, earlier.Spec, replace); err != nil {
		return nil, err
	}
	plugins, err := o.pluginsOf(d)
	if err != nil {
		return nil, err
	}
	entry := mustText(*o.specOf(&plugins.Elements[o.ownEntry(file, plugins, spec, earlier.Spec)]))
	usesShim := !isChosen && o.sameSpec(file, entry, spec)
	if usesShim {
		p.files = files
	} else if !isChosen {
		p.Notes = append(p.Notes, fmt.Sprintf("%s loads the plugin from %s, which you have listed yourself. To use the one of this program, remove that entry and install again.", o.Harness.Name, entry))
	}
	after := d.bytes()
	if bytes.Equal(after, p.Before) {
		p.After = p.Before
		p.renewLoader(earlier)
		return p, nil
	}
	p.After = after
	if err := p.recordInstallation(d, spec, earlier); err != nil {
		return nil, err
	}
	p.record.UsesShim = usesShim
	if usesShim && o.Project != "" {
		if p.record.Loader, err = o.loaderFile(); err != nil {
			return nil, err
		}
		p.record.LoaderHash = hash(o.Shim.Loader)
	}
	p.record.NewDirectory = o.newDirectory(earlier)
	if o.Project != "" && o.Harness.projectNote != "" {
		p.Notes = append(p.Notes, o.Harness.projectNote)
	}
	p.Settings, err = newSettings(o)
	return p, err
}

// newDirectory returns the harness's directory in the project, empty unless this installation or the earlier
// one makes it.
func (p Place) newDirectory(earlier *record) string {
	if p.Project == "" {
		return ""
	}
	dir := filepath.Join(p.Project, p.Harness.projectDirectory)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return dir
	}
	return earlier.NewDirectory
}

// renewLoader records the hash of a loader that is written again into a project, without a change of the
// project's configuration.
func (p *Plan) renewLoader(earlier *record) {
	for _, f := range p.files {
		if earlier.Loader != "" && f.path == earlier.Loader {
			renewed := *earlier
			renewed.LoaderHash = hash(f.content)
			p.record = &renewed
		}
	}
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
	plugins, err := place.pluginsOf(edited)
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
	d, err := parseDocument(p.File, original)
	if err != nil {
		return err
	}
	p.record.Former, err = place.formerOf(d, p.record.Spec)
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
	if r.UsesShim {
		if p.shim, err = place.shimToRemove(p.vault); err != nil {
			return nil, err
		}
		if len(p.shim) > 0 && place.Project == "" && p.ownsSettings() { // settings that stay name the schema
			p.shim = append(p.shim, place.schemaFile())
		}
	}
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
		files = append(files, p.configurations(dir)...)
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
		d, err := p.readDocument(file)
		if err != nil {
			continue
		}
		plugins, err := p.pluginsOf(d)
		if err != nil || plugins == nil {
			continue
		}
		if i := p.ownEntry(file, plugins); i >= 0 {
			entry := p.specOf(&plugins.Elements[i])
			return "", nil, fmt.Errorf("%s: %s was not added by install; remove it from %q by hand", d.position(*entry), mustText(*entry), p.Harness.List)
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

// ownsLoader reports whether the loader in the project still has the content that we wrote.
func (p *Plan) ownsLoader() bool {
	if p.record.Loader == "" {
		return false
	}
	content, err := readOwn(p.record.Loader)
	return err == nil && hash(content) == p.record.LoaderHash
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
	// The plugin is written first: the configuration must not name a plugin that does not exist.
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
	// The record is written first: a record without its edit does no harm, but an edit without its record
	// cannot be undone.
	if err := p.vault.write(p.record, p.backup); err != nil {
		return err
	}
	if bytes.Equal(p.After, p.Before) {
		return nil
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
	if p.ownsLoader() {
		if err := removeOwn([]string{p.record.Loader}); err != nil {
			return err
		}
	}
	if err := removeOwn(p.shim); err != nil {
		return err
	}
	if dir := p.record.NewDirectory; dir != "" && !isLink(dir) {
		os.Remove(dir) // fails while it holds something else
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
