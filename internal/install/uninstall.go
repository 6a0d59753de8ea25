package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/magicctx/magicctx-host/internal/regular"
)

// Uninstall plans to remove the shim. A file that nobody has edited since the installation gets its former bytes back.
// An edited file loses only our changes. If nothing is installed, the error is ErrNotInstalled.
func Uninstall(ctx context.Context, place Place) (*Plan, error) {
	file, r, err := place.installed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := removal(place, file, r)
	if err != nil {
		return nil, err
	}
	if p.panel, err = panelRemoval(ctx, place); err != nil {
		return nil, err
	}
	if r.UsesShim {
		if p.shim, err = place.shimToRemove(p); err != nil {
			return nil, err
		}
		// Other settings files may name the schema file, for example those of another harness. So it is deleted only
		// with the last shim on this machine, and only if the user has not edited the settings.
		if place.Project == "" && p.ownsSettings() && slices.Contains(p.shim, place.programCopy()) {
			p.shim = append(p.shim, place.schemaFile())
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

func removal(p Place, file string, r *record) (*Plan, error) {
	plan, err := p.newPlan(file)
	if err != nil {
		return nil, err
	}
	plan.record, plan.remove = r, true
	plan.Before, err = readFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.IsNew:
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is gone; what it was before the installation is in %s", file, plan.vault.backup)
	case err != nil:
		return nil, err
	default:
		var exact bool
		if plan.After, exact, err = plan.vault.withoutUs(r, plan.Before); err != nil {
			return nil, err
		}
		if !exact {
			plan.Notes = append(plan.Notes, "The file was edited after the installation: only the changes of the installation are undone.")
		}
	}
	return plan, nil
}

// The function `recorded` looks for a configuration file that an installation has edited. It returns the path as
// `file`, and the installation's record as `r`. If there is no such file, `r` is nil. `files` lists all files that
// could have been edited.
func recorded(ctx context.Context, p Place) (files []string, file string, r *record, err error) {
	dirs, err := p.directories()
	if err != nil {
		return nil, "", nil, err
	}
	for _, dir := range dirs {
		files = append(files, p.configurations(dir)...)
	}
	for _, file := range files {
		if ctx.Err() != nil {
			return nil, "", nil, fmt.Errorf("look for the installation: %w", context.Cause(ctx))
		}
		v, err := p.vault(file)
		if err != nil {
			return nil, "", nil, err
		}
		if r, err := v.readRecord(); r != nil || err != nil {
			return files, file, r, err
		}
	}
	return files, "", nil, nil
}

func (p Place) installed(ctx context.Context) (string, *record, error) {
	files, file, r, err := recorded(ctx, p)
	if err != nil || r != nil {
		return file, r, err
	}
	for _, file := range files {
		d, err := p.readDocument(file)
		if err != nil {
			continue
		}
		plugins, err := d.plugins()
		if err != nil || plugins == nil {
			continue
		}
		if i := p.ownEntry(file, plugins); i >= 0 {
			entry := p.specOf(&plugins.Elements[i])
			return "", nil, fmt.Errorf("%s: %s was not added by install; remove it from %q by hand", d.Position(*entry), mustText(*entry), p.Harness.List)
		}
	}
	return "", nil, ErrNotInstalled
}

func (p *Plan) ownsSettings() bool {
	return p.place().wrote(p.record.Settings, p.record.SettingsHash)
}

// ownLoaders returns the loaders that an installation wrote and that nobody has changed since. Only these may be
// replaced or deleted.
func (r *record) ownLoaders(p Place) (files []string) {
	if p.wrote(r.Loader, r.LoaderHash) {
		files = append(files, r.Loader)
	}
	if p.wrote(r.Terminal, r.TerminalHash) {
		files = append(files, r.Terminal)
	}
	return files
}

// The method `wrote` reports whether the file still has the content that an installation wrote. If a link now leads out
// of the project, the file belongs to somebody else, and the result is false.
func (p Place) wrote(file, sum string) bool {
	if file == "" || !p.isInProject(file) {
		return false
	}
	content, err := readOwn(file)
	return err == nil && hash(content) == sum
}

// isInProject follows all links, and reports whether the file is in the project. If the place has no project, the result
// is true.
func (p Place) isInProject(file string) bool {
	real, err := regular.RealPath(file)
	return err == nil && p.checkInside(file, real) == nil
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
		err = regular.Replace(p.Real, p.After, 0o644)
	}
	if err != nil {
		return err
	}
	if err := removeOwn(p.record.ownLoaders(p.place())); err != nil {
		return err
	}
	if err := removeOwn(p.shim); err != nil {
		return err
	}
	if dir := p.record.NewDirectory; dir != "" && !isLink(dir) && p.place().isInProject(dir) {
		os.Remove(dir) // this fails while the directory holds other files
	}
	return p.vault.forget()
}
