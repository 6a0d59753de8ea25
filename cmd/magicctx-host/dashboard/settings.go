package dashboard

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// A settingsPage shows the settings that are in force for one harness in one directory.
type settingsPage struct {
	Settings []config.Setting `json:"settings"`
	Warnings []string         `json:"warnings"`
	// Directories are those of the known sessions, from which a person chooses. Without a directory, only the user's own
	// file counts.
	Directories []string `json:"directories"`
}

// settings reads the files as the host does. It reads no file of a directory that has no session.
func (p *pages) settings(r *http.Request) (settingsPage, error) {
	o := config.Options{Harness: schema.Harness(r.URL.Query().Get("harness")), Directory: r.URL.Query().Get("directory")}
	out := settingsPage{Warnings: []string{}, Directories: []string{}}
	if !slices.Contains([]schema.Harness{schema.HarnessOpenCode, schema.HarnessOpenCode2, schema.HarnessPi}, o.Harness) {
		return out, fmt.Errorf("there is no harness %q", format.Clean(string(o.Harness)))
	}
	var err error
	if out.Directories, err = p.directories(r); err != nil {
		return out, err
	}
	if o.Directory != "" && !slices.Contains(out.Directories, o.Directory) {
		return out, fmt.Errorf("magicctx knows no session in %q", format.Clean(o.Directory))
	}
	settings, warnings := config.Explain(o)
	for _, s := range settings {
		out.Settings = append(out.Settings, config.Setting{Key: s.Key, Value: format.Clean(s.Value), Place: format.Clean(s.Place)})
	}
	for _, w := range warnings {
		out.Warnings = append(out.Warnings, format.Clean(w.Message))
	}
	return out, nil
}
