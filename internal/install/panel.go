package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// panelPlace returns the place of the configuration file that the harness's screen reads. If the screen has no
// configuration file of its own, ok is false.
func panelPlace(p Place) (list Place, ok bool) {
	h := *p.Harness
	h.files, h.newFile, h.variable, h.switchesOff, h.loadsDirectories = h.panelFiles, h.newPanelFile, h.panelVariable, nil, false
	p.Harness = &h
	return p, len(h.files) > 0
}

// addPanel extends the plan of an installation, so that the harness's screen also loads the plugin's panel. If that is
// not possible, addPanel only adds a note to the plan, because the plugin works even without the panel.
func (o Options) addPanel(p *Plan, entry string, usesShim bool) {
	list, ok := panelPlace(o.Place)
	if !ok {
		return
	}
	var err error
	if p.panel, err = o.planPanel(list, o.pathOf(p.File, entry), entry, usesShim); err != nil {
		p.panel = nil
		p.Notes = append(p.Notes, fmt.Sprintf("%s's screen will show no panel: %v", o.Harness.Name, err))
	}
}

func (o Options) planPanel(list Place, plugin, entry string, usesShim bool) (*Plan, error) {
	p, d, err := begin(list)
	if err != nil {
		return nil, err
	}
	spec := filepath.Join(plugin, terminalName)
	_, isPackage := o.Harness.nameOf(entry)
	_, statErr := os.Stat(spec)
	switch {
	case isPackage:
		spec = entry
	case usesShim && o.Shim.Terminal == nil, !usesShim && statErr != nil:
		return nil, nil // this plugin has no panel
	case usesShim && o.Project != "":
		loader, err := o.loaderFile()
		if err != nil {
			return nil, err
		}
		relative, err := filepath.Rel(filepath.Dir(p.Real), filepath.Join(filepath.Dir(loader), terminalName))
		if err != nil {
			return nil, fmt.Errorf("name the panel: %w", err)
		}
		spec = "./" + filepath.ToSlash(relative)
	}
	earlier, err := p.earlier()
	if err != nil {
		return nil, err
	}
	replace := func(other string) bool {
		return o.Plugin != "" || list.isStale(p.File, other) || earlier.Spec != "" && list.sameSpec(p.File, other, earlier.Spec)
	}
	if err := d.enable(spec, earlier.Spec, replace); err != nil {
		return nil, err
	}
	if p.After = d.Bytes(); bytes.Equal(p.After, p.Before) {
		return nil, nil
	}
	return p, p.recordInstallation(d, spec, earlier)
}

// If no installation has listed the panel, panelRemoval returns nil.
func panelRemoval(ctx context.Context, p Place) (*Plan, error) {
	list, ok := panelPlace(p)
	if !ok {
		return nil, nil
	}
	_, file, r, err := recorded(ctx, list)
	if err != nil || r == nil {
		return nil, err
	}
	return removal(list, file, r)
}

// PanelProblem says why the harness's screen does not show the panel, or returns "".
func (f Plugin) PanelProblem(ctx context.Context, p Place) string {
	list, ok := panelPlace(p)
	if !ok || f.Spec == "" {
		return ""
	}
	found, err := FindPlugin(ctx, list)
	switch {
	case err != nil:
		return fmt.Sprintf("the screen of %s shows no panel; correct the file first: %v", p.Harness.Name, err)
	case found == nil:
		return fmt.Sprintf("the screen of %s shows no panel, because no %s lists it", p.Harness.Name, list.Harness.files[1])
	}
	return ""
}
