package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A settingsPage shows the settings of one harness in one directory.
type settingsPage struct {
	Settings []config.Setting `json:"settings"`
	Warnings []string         `json:"warnings"`
	// Directories are the directories of all sessions. The person can choose one of them. If none is chosen, the page
	// shows only the user's own file.
	Directories []string `json:"directories"`
}

// No file of a directory without a session is read.
func (p *pages) settings(r *http.Request) (settingsPage, error) {
	out := settingsPage{Warnings: []string{}}
	o, err := p.place(r, r.URL.Query().Get("harness"), r.URL.Query().Get("directory"))
	if err == nil {
		out.Directories, err = p.directories(r)
	}
	if err != nil {
		return out, err
	}
	settings, warnings := config.Explain(o)
	for _, s := range settings {
		s.Value, s.Place = format.Clean(s.Value), format.Clean(s.Place)
		out.Settings = append(out.Settings, s)
	}
	for _, w := range warnings {
		out.Warnings = append(out.Warnings, format.Clean(w.Message))
	}
	return out, nil
}

// harnesses are the names of the harnesses that have settings.
var harnesses = map[schema.Harness]string{schema.HarnessOpenCode: "OpenCode", schema.HarnessOpenCode2: "OpenCode", schema.HarnessPi: "Pi"}

// place turns the harness and the directory from the page into options for package config. The page may send anything,
// so place checks both first.
func (p *pages) place(r *http.Request, harness, directory string) (config.Options, error) {
	o := config.Options{Harness: schema.Harness(harness), Directory: directory}
	if harnesses[o.Harness] == "" {
		return o, fmt.Errorf("there is no harness %q", format.Clean(harness))
	}
	known, err := p.directories(r)
	if err == nil && directory != "" && !slices.Contains(known, directory) {
		err = fmt.Errorf("magicctx knows no session in %q", format.Clean(directory))
	}
	return o, err
}

type settingChange struct {
	Harness   string  `json:"harness"`
	Directory string  `json:"directory"` // selects which effects are shown; the file of a project is never written
	Key       string  `json:"key"`
	Value     *string `json:"value"` // JSON; without it, the key is removed
	// Seen is the version of the file that the person has looked at. If Seen is empty, changeSetting only shows what
	// would change, and writes nothing.
	Seen string `json:"seen"`
}

type plannedChange struct {
	File    string          `json:"file"`
	Version string          `json:"version"`
	Diff    string          `json:"diff"` // empty if only a possible secret changes
	Effects []config.Effect `json:"effects"`
	When    string          `json:"when"`
}

func (p *pages) changeSetting(r *http.Request) (plannedChange, error) {
	var c settingChange
	var out plannedChange
	if err := json.UnmarshalRead(r.Body, &c); err != nil {
		return out, fmt.Errorf("read the change: %w", err)
	}
	o, err := p.place(r, c.Harness, c.Directory)
	if err != nil {
		return out, err
	}
	p.editing.Lock()
	defer p.editing.Unlock()
	e, err := config.NewEdit(o, c.Key, c.Value)
	if err != nil {
		return out, errors.New(format.Clean(err.Error()))
	}
	before, after := e.Shown()
	out = plannedChange{File: format.Clean(e.File), Version: e.Version(), Diff: format.Diff(e.File, e.File, before, after, false), Effects: []config.Effect{}}
	for _, f := range e.Effects {
		out.Effects = append(out.Effects, config.Effect{Key: f.Key, From: format.Clean(f.From), To: format.Clean(f.To)})
	}
	out.When = "It takes effect when " + harnesses[o.Harness] + " next starts."
	switch c.Seen {
	case "":
		return out, nil
	case out.Version:
		return out, e.Write()
	}
	return out, config.ErrChanged
}
