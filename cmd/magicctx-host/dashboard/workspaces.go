package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
)

// A workspacesPage also shows what workspaces can share.
type workspacesPage struct {
	Workspaces []memories.Workspace `json:"workspaces"`
	Categories []string             `json:"categories"`
	// Only the projects of known sessions can join.
	Directories []string `json:"directories"`
}

func (p *pages) workspaces(r *http.Request) (workspacesPage, error) {
	out := workspacesPage{Workspaces: []memories.Workspace{}, Categories: chronicle.Categories[:]}
	err := memories.View(r.Context(), p.Dir, func(r *memories.Reader) error {
		all, err := r.Workspaces()
		out.Workspaces = append(out.Workspaces, all...)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrMissing) {
		return out, err
	}
	out.Directories, err = p.directories(r)
	return out, err
}

func (p *pages) directories(r *http.Request) ([]string, error) {
	all := []string{}
	err := store.Browse(r.Context(), p.Dir, func(b *store.Browser) error {
		sessions, err := b.Sessions()
		for _, s := range sessions {
			if s.Directory != "" {
				all = append(all, s.Directory)
			}
		}
		return err
	})
	if errors.Is(err, store.ErrMissing) {
		err = nil
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

type workspaceChange struct {
	Action    string   `json:"action"` // "set", "join", "leave" or "remove"
	Name      string   `json:"name"`
	Shares    []string `json:"shares"`    // of set
	Directory string   `json:"directory"` // of join: a directory of the project
	Project   string   `json:"project"`   // of leave: the identity of the project
}

func (p *pages) changeWorkspace(r *http.Request) (string, error) {
	var c workspaceChange
	if err := json.UnmarshalRead(r.Body, &c); err != nil {
		return "", fmt.Errorf("read the change: %w", err)
	}
	var change func(*memories.Editor) error
	switch c.Action {
	case "set":
		change = func(e *memories.Editor) error { return e.SetWorkspace(c.Name, c.Shares) }
	case "join":
		known, err := p.directories(r)
		if err == nil && !slices.Contains(known, c.Directory) {
			err = fmt.Errorf("magicctx knows no session in %q", format.Clean(c.Directory))
		}
		if err != nil {
			return "", err
		}
		project, err := p.Identify(r.Context(), c.Directory)
		if err != nil {
			return "", err
		}
		change = func(e *memories.Editor) error {
			return e.Join(c.Name, memories.Member{Project: project, Name: cmp.Or(format.Clean(filepath.Base(c.Directory)), "project")})
		}
	case "leave":
		change = func(e *memories.Editor) error { return e.Leave(c.Project) }
	case "remove":
		change = func(e *memories.Editor) error { return e.RemoveWorkspace(c.Name) }
	default:
		return "", fmt.Errorf("there is no action %q: set, join, leave or remove", format.Clean(c.Action))
	}
	return c.Name, memories.Edit(r.Context(), p.Dir, time.Now().UnixMilli(), change)
}
