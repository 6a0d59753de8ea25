package importing

import (
	"errors"
	"slices"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/plugindb"
)

const hasNoName = "its name cannot be used"

func named(err error) (string, error) {
	if _, ok := errors.AsType[memories.Refusal](err); ok {
		return hasNoName, nil
	}
	return "", err
}

func (x *run) takeWorkspaces() error {
	err := x.each("workspaces", []string{"name", "share_categories"}, "ORDER BY id", func(r *plugindb.Row) (put, error) {
		name, shares := r.Text(0), sharesOf(r.Text(1))
		return once([]string{"workspace", name}, func(i *store.Import) (string, error) {
			if isThere, err := i.HasWorkspace(name); err != nil || isThere {
				return isKnown, err
			}
			return named(i.SetWorkspace(name, shares))
		}), nil
	})
	if err != nil {
		return err
	}
	columns := []string{"workspace_id", "project_path", "display_name"}
	return x.each("workspace_members", columns, "ORDER BY workspace_id, project_path", func(r *plugindb.Row) (put, error) {
		workspace, m := "", memories.Member{Name: r.Text(2)}
		err := x.db.Each("workspaces", []string{"name"}, "WHERE id = ?", func(r *plugindb.Row) error {
			workspace = r.Text(0)
			return nil
		}, r.Int(0))
		if err == nil {
			m.Project, err = x.project(r.Text(1))
		}
		if m.Project == "" {
			return skip(hasNoProject), err
		}
		return once([]string{"member", workspace, r.Text(1)}, func(i *store.Import) (string, error) {
			if isThere, err := i.IsMember(m.Project); err != nil || isThere {
				return isKnown, err
			}
			return named(i.Join(workspace, m))
		}), err
	})
}

// A malformed policy shares nothing.
func sharesOf(policy string) (shares []string) {
	err := json.Unmarshal([]byte(policy), &shares)
	if err != nil || slices.ContainsFunc(shares, func(c string) bool { return !slices.Contains(chronicle.Categories[:], c) }) {
		return nil
	}
	return shares
}
