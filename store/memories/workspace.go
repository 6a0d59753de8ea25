package memories

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
)

// A Workspace is a group of projects. Each project also sees the other projects' active memories if their category is
// in Shares.
type Workspace struct {
	Name    string   `json:"name"`
	Shares  []string `json:"shares"`
	Members []Member `json:"members"`
}

// A Member is a project of a workspace.
type Member struct {
	Project string `json:"project"` // identity
	// Name is the project's name for the other members.
	Name string `json:"name"`
}

func (r *Reader) Workspaces() (all []Workspace, err error) {
	err = r.scan(`SELECT name FROM workspaces ORDER BY name`, func(s *sqlite3.Stmt) {
		all = append(all, Workspace{Name: s.ColumnText(0), Shares: []string{}, Members: []Member{}})
	})
	for i := range all {
		w := &all[i]
		if err == nil {
			err = r.scan(`SELECT category FROM workspace_shares WHERE workspace = ? ORDER BY category`,
				func(s *sqlite3.Stmt) { w.Shares = append(w.Shares, s.ColumnText(0)) }, w.Name)
		}
		if err == nil {
			err = r.scan(`SELECT project, name FROM workspace_members WHERE workspace = ? ORDER BY name`,
				func(s *sqlite3.Stmt) { w.Members = append(w.Members, Member{s.ColumnText(0), s.ColumnText(1)}) }, w.Name)
		}
	}
	return all, err
}

// SetWorkspace creates a workspace, or changes what its projects share.
func (e *Editor) SetWorkspace(name string, shares []string) error {
	if err := checkName(name); err != nil {
		return err
	}
	for _, category := range shares {
		if !slices.Contains(chronicle.Categories[:], category) {
			return Refuse("category is %q; it is one of %s", category, strings.Join(chronicle.Categories[:], ", "))
		}
	}
	return e.reshare(func() error {
		err := e.exec(`INSERT OR IGNORE INTO workspaces (name) VALUES (?)`, name)
		if err == nil {
			err = e.exec(`DELETE FROM workspace_shares WHERE workspace = ?`, name)
		}
		for _, category := range shares {
			if err == nil {
				err = e.exec(`INSERT OR IGNORE INTO workspace_shares (workspace, category) VALUES (?, ?)`, name, category)
			}
		}
		return err
	})
}

func (e *Editor) HasWorkspace(name string) (bool, error) {
	return e.tx.Exists(`SELECT 1 FROM workspaces WHERE name = ?`, name)
}

func (e *Editor) IsMember(project string) (bool, error) {
	return e.tx.Exists(`SELECT 1 FROM workspace_members WHERE project = ?`, project)
}

// Join makes a project a member of a workspace. If the project is in another workspace, it leaves that one.
func (e *Editor) Join(workspace string, m Member) error {
	if err := checkName(m.Name); err != nil {
		return err
	}
	if !isProject(m.Project) {
		return Refuse("%q is no project", m.Project)
	}
	isThere, err := e.HasWorkspace(workspace)
	if err == nil && !isThere {
		err = Refuse("there is no workspace %q", workspace)
	}
	if err != nil {
		return err
	}
	isGiven, err := e.tx.Exists(`SELECT 1 FROM workspace_members WHERE workspace = ? AND name = ? AND project <> ?`, workspace, m.Name, m.Project)
	if err == nil && isGiven {
		err = Refuse("another project of the workspace has the name %q", m.Name)
	}
	if err != nil {
		return err
	}
	return e.reshare(func() error {
		return e.exec(`INSERT OR REPLACE INTO workspace_members (project, workspace, name) VALUES (?, ?, ?)`, m.Project, workspace, m.Name)
	})
}

func (e *Editor) Leave(project string) error {
	return e.reshare(func() error {
		changed, err := e.tx.Exec(`DELETE FROM workspace_members WHERE project = ?`, project)
		if err == nil && changed == 0 {
			err = Refuse("the project is in no workspace")
		}
		return err
	})
}

// RemoveWorkspace removes a workspace. Its projects keep their own memories.
func (e *Editor) RemoveWorkspace(name string) error {
	return e.reshare(func() error {
		changed, err := e.tx.Exec(`DELETE FROM workspaces WHERE name = ?`, name)
		if err == nil && changed == 0 {
			err = Refuse("there is no workspace %q", name)
		}
		for _, table := range []string{"workspace_shares", "workspace_members"} { // this connection may check no foreign keys
			if err == nil {
				err = e.exec(`DELETE FROM `+table+` WHERE workspace = ?`, name)
			}
		}
		return err
	})
}

func checkName(name string) error {
	if n := utf8.RuneCountInString(name); n == 0 || n > 80 || format.Clean(name) != name || strings.TrimSpace(name) != name {
		return Refuse("%.80q is no name: it needs 1 to 80 visible characters, without a blank at an end", name)
	}
	return nil
}

func (e *Editor) exec(query string, args ...any) error {
	_, err := e.tx.Exec(query, args...)
	return err
}

type view struct {
	viewer string
	memory int64
}

// reshare runs `change`, which edits workspaces. It compares the memories that each project sees before and after, and
// logs each memory that became visible or disappeared. From this log, open sessions learn about it.
func (e *Editor) reshare(change func() error) error {
	before, err := e.views()
	if err == nil {
		err = change()
	}
	if err != nil {
		return err
	}
	after, err := e.views()
	var told []chronicle.MemoryChange
	for v := range before {
		if _, stays := after[v]; !stays {
			told = append(told, chronicle.MemoryChange{Project: v.viewer, Memory: v.memory, Kind: chronicle.MemoryArchived})
		}
	}
	for v, m := range after {
		if _, isOld := before[v]; !isOld {
			told = append(told, chronicle.MemoryChange{Project: v.viewer, Memory: v.memory, Kind: chronicle.MemoryRestored, Category: m.Category, Content: m.Content})
		}
	}
	slices.SortFunc(told, func(a, b chronicle.MemoryChange) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Memory, b.Memory))
	})
	for _, ch := range told {
		if err == nil {
			err = e.log(ch)
		}
	}
	return err
}

func (e *Editor) views() (map[view]chronicle.Memory, error) {
	var members []string
	all := map[view]chronicle.Memory{}
	err := e.tx.Scan(`SELECT project FROM workspace_members`, func(s *sqlite3.Stmt) { members = append(members, s.ColumnText(0)) })
	for _, project := range members {
		if err != nil {
			break
		}
		var visible []chronicle.Memory
		visible, err = e.Reader().Visible(project, e.now)
		for _, m := range visible {
			if m.SharedBy != "" {
				all[view{project, m.ID}] = m
			}
		}
	}
	return all, err
}
