package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/jsonc"
)

type Plugin struct {
	File string // the configuration
	Spec string
	// List is the name of the list that contains the entry. If a second list also contains an entry of ours, Again says
	// where that second entry is.
	List, Again string
	// Path is the shim, or "" for an npm package. If the entry names a loader, Path is the loaded shim.
	Path string
	// Loader is the path of the project's loader, if the entry names it.
	Loader string
}

// Problem reports that one version of the harness does not load the plugin from its entry, or loads it twice. `remedy`
// is empty if running the installation again solves the problem.
func (f Plugin) Problem(h *Harness) (problem, remedy string) {
	switch {
	case !h.loadsDirectories || f.Spec == "":
	case f.Again != "":
		return fmt.Sprintf("%s loads the plugin from %q in %s, and %s 2 also loads it from %s", h.Name, f.List, f.File, h.Name, f.Again), "remove the second entry"
	case f.List != h.List:
		return fmt.Sprintf("only %s 2 reads the list %q in %s", h.Name, f.List, f.File), fmt.Sprintf("move the entry to %q, which both versions read", h.List)
	case h.isPath(f.Spec):
		if info, err := os.Stat((Place{Harness: h}).pathOf(f.File, f.Spec)); err == nil && !info.IsDir() {
			return fmt.Sprintf("%s lists the plugin as a file, and %s 2 loads directories only", f.File, h.Name), ""
		}
	}
	return "", ""
}

// ForeignPlugin compares the file that the harness runs, which is the plugin or a project's loader, with the file that
// the shim `s` would install. If their contents differ, it returns the path of the harness's file: it may belong to
// another version, or the author of a repository may have written it. If they are equal, or if the harness runs an npm
// package, the result is "".
func ForeignPlugin(ctx context.Context, p Place, s Shim) (file string, err error) {
	plugin, err := FindPlugin(ctx, p)
	if err != nil || plugin == nil {
		return "", err
	}
	ours := ownFile{path: plugin.Loader, content: s.Loader}
	if ours.path == "" {
		ours = ownFile{path: plugin.Path, content: s.Bundle}
		if info, err := os.Stat(plugin.Path); err == nil && info.IsDir() {
			ours.path = filepath.Join(plugin.Path, bundleName)
		}
	}
	if _, err := os.Lstat(ours.path); err != nil { // the package at this path loads a file of another name, or nothing is there
		return "", nil
	}
	isForeign, err := ours.differs()
	if err != nil {
		return "", fmt.Errorf("compare the plugin: %w", err)
	}
	if !isForeign {
		return "", nil
	}
	return ours.path, nil
}

// FindPlugin returns the entry that loads the shim, or nil. An installation or the user may have written the entry.
func FindPlugin(ctx context.Context, p Place) (*Plugin, error) {
	var found *Plugin
	again := "" // the position of an entry of ours in a list that an installation does not edit
	files, _ := p.Harness.inForce(p)
	for _, file := range files {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("look for the plugin: %w", context.Cause(ctx))
		}
		d, err := p.readDocument(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		plugins, err := d.plugins()
		if err != nil {
			return nil, err
		}
		installed := "" // the spec in the record of the installation; it identifies an entry with a path that the user chose
		if v, err := p.vault(file); err == nil {
			if r, err := v.readRecord(); err == nil && r != nil {
				installed = r.Spec
			}
		}
		spec, list, more := "", p.Harness.List, d.loadedByHand()
		if len(more) > 0 {
			again = more[0].position
		}
		if i := p.ownEntry(file, plugins, installed); i >= 0 {
			spec = mustText(*p.specOf(&plugins.Elements[i]))
		} else if len(more) > 0 {
			spec, list = more[0].spec, more[0].list
		} else {
			continue
		}
		entry := Plugin{File: file, Spec: spec, List: list}
		if p.Harness.isPath(spec) {
			entry.Path = p.scriptAt(p.pathOf(file, spec))
		}
		if loader := p.loaderAt(entry.Path); loader != "" {
			if found != nil { // the loader does nothing if the user's own configuration loads a shim
				continue
			}
			entry.Path, entry.Loader = p.shimFile(bundleName), loader
		} else if found != nil && isMissing(entry.Path) { // the harness loads the plugin that was found before
			continue
		}
		found = &entry
	}
	if found != nil && found.List == p.Harness.List {
		found.Again = again
	}
	return found, nil
}

// scriptAt returns the script of a plugin. If `path` is a directory that an installation has made, this is the script
// in the directory. Otherwise, it is `path` itself.
func (p Place) scriptAt(path string) string {
	_, err := os.Stat(filepath.Join(path, "package.json"))
	if p.Harness.loadsDirectories && filepath.Base(path) == p.Harness.shimDirectory && errors.Is(err, fs.ErrNotExist) {
		return filepath.Join(path, bundleName)
	}
	return path
}

func isMissing(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err != nil
}

// CompactionOff returns the file that switches off the harness's own compaction, or "" if compaction is on.
func CompactionOff(ctx context.Context, p Place) (file string, err error) {
	files, _ := p.Harness.inForce(p)
	for _, f := range files {
		if ctx.Err() != nil {
			return "", fmt.Errorf("look for the compaction settings: %w", context.Cause(ctx))
		}
		d, err := p.readDocument(f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		compaction, err := compactionOf(d.Document)
		if err != nil {
			return "", err
		}
		if compaction == nil {
			continue
		}
		if m := jsonc.Member(compaction, p.Harness.compactionSwitch); m != nil {
			if file = ""; isFalse(m.Value) {
				file = f
			}
		}
	}
	return file, nil
}

// RestoreCompaction plans to restore the compaction settings from before the installation. The plugin stays listed,
// and the next installation switches compaction off again. If nothing is installed, the error is ErrNotInstalled. If
// the user had switched compaction off earlier, the plan is empty.
func RestoreCompaction(ctx context.Context, place Place) (*Plan, error) {
	file, r, err := place.installed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := place.newPlan(file)
	if err != nil {
		return nil, err
	}
	p.Before, err = readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.After = p.Before
	d, err := jsonc.ParseDocument(file, p.Before)
	if err != nil {
		return nil, err
	}
	if err := (configuration{d, place}).restoreCompaction(r.Former); err != nil {
		return nil, err
	}
	after := d.Bytes()
	if slices.Equal(after, p.Before) {
		return p, nil
	}
	p.After = after
	// The record must match the new content of the file. Otherwise, a later removal could not undo the installation.
	changed := *r
	changed.Installed = hash(after)
	p.record = &changed
	return p, nil
}

// restoreCompaction puts back the former compaction settings. A setting that somebody has changed since the
// installation stays as it is.
func (c configuration) restoreCompaction(f former) error {
	compaction, err := c.switchedCompaction()
	if err != nil || compaction == nil {
		return err
	}
	for _, key := range slices.Backward(c.Harness.switchesOff) {
		m := jsonc.Member(compaction, key)
		if m == nil || !isFalse(m.Value) {
			continue
		}
		before, had := f.Compaction[key]
		if !had {
			jsonc.RemoveMember(compaction, key)
			continue
		}
		value, err := hujson.Parse(before)
		if err != nil {
			return fmt.Errorf("former value of compaction.%s: %w", key, err)
		}
		m.Value.Value = value.Value
	}
	if !f.HasCompaction && jsonc.IsBare(compaction) {
		jsonc.RemoveMember(c.Root, "compaction")
	}
	return nil
}
