package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/internal/program"
)

// A Conflict is a setting or a file that does not work together with magicctx, for example a second plugin that
// compacts sessions.
type Conflict struct {
	Where        string // file, or file:line:column
	Problem      string
	Remedy       string // the action that resolves it, as an imperative
	IsCompetitor bool
}

// A ConflictError says why nothing was installed.
type ConflictError struct {
	Conflicts []Conflict
	// If an earlier installation has switched off the harness's own compaction, CompactionOff is the path of the
	// edited configuration. Otherwise, it is empty.
	Harness, CompactionOff string
}

func (e *ConflictError) Error() string {
	var b strings.Builder
	b.WriteString("nothing was changed, because magicctx cannot work beside this:")
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "\n  %s\n    %s\n    to solve it: %s", c.Where, c.Problem, c.Remedy)
	}
	if e.CompactionOff != "" {
		fmt.Fprintf(&b, "\n%s's own compaction is off in %s; until this is solved, %s doctor --fix gives it back", e.Harness, e.CompactionOff, program.Name())
	}
	return b.String()
}

func findConflicts(ctx context.Context, p Place, target configuration) ([]Conflict, error) {
	files, dirs := p.Harness.inForce(p)
	var found []Conflict
	wins := false // whether the harness merges this file over the target
	for _, file := range files {
		d := target
		if file != target.File {
			var err error
			if d, err = p.readDocument(file); errors.Is(err, os.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		if wins {
			found = append(found, d.compactionConflicts(target.File)...)
		}
		wins = wins || file == target.File
		inFile, err := d.pluginConflicts(ctx, dirs)
		if err != nil {
			return nil, err
		}
		found = append(found, inFile...)
	}
	return append(found, p.discoveredConflicts(dirs)...), nil
}

// Some other configuration files of the harness have precedence over the edited one. compactionConflicts finds the
// settings in such a file that switch compaction on again.
func (c configuration) compactionConflicts(target string) (found []Conflict) {
	compaction, err := c.switchedCompaction()
	if err != nil || compaction == nil {
		return nil
	}
	for _, key := range c.Harness.switchesOff {
		if m := jsonc.Member(compaction, key); m != nil && isTrue(m.Value) {
			found = append(found, Conflict{
				Where:   c.Position(m.Value),
				Problem: fmt.Sprintf("compaction.%s is on here, and this file wins over %s", key, target),
				Remedy:  fmt.Sprintf("set compaction.%s to false in this file, or remove it", key),
			})
		}
	}
	return found
}

// dirs are the directories in which plugins keep their own configuration.
func (c configuration) pluginConflicts(ctx context.Context, dirs []string) (found []Conflict, err error) {
	if _, err := c.plugins(); err != nil {
		return nil, err
	}
	for _, e := range c.entries() {
		if c.isShim(e.spec) {
			continue
		}
		other, err := c.competitorOf(ctx, c.File, e.spec)
		if err != nil {
			return nil, err
		}
		if other != nil {
			found = append(found, Conflict{
				Where:   e.position,
				Problem: fmt.Sprintf(other.problem, e.spec),
				Remedy:  fmt.Sprintf("remove %s from %q in this file", json.Quote(e.spec), e.list),

				IsCompetitor: true,
			})
		}
		if c.Harness.pluginConflicts == nil {
			continue
		}
		name, _, err := c.pluginName(ctx, c.File, e.spec)
		if err != nil {
			return nil, err
		}
		found = append(found, c.Harness.pluginConflicts(c.Place, e.position, name, dirs)...)
	}
	return found, nil
}

type entry struct{ list, spec, position string }

func (c configuration) entries() (all []entry) {
	for _, list := range append([]string{c.Harness.List}, c.Harness.moreLists...) {
		m := jsonc.Member(c.Root, list)
		if m == nil {
			continue
		}
		array, ok := m.Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for i := range array.Elements[:min(len(array.Elements), maxPlugins)] {
			if v := c.specOf(&array.Elements[i]); v != nil {
				all = append(all, entry{list, mustText(*v), c.Position(*v)})
			}
		}
	}
	return all
}

// loadedByHand returns entries of our plugin that an installation has not written. They are in lists that only users
// edit.
func (c configuration) loadedByHand() (found []entry) {
	for _, e := range c.entries() {
		if e.list != c.Harness.List && c.isShim(e.spec) {
			found = append(found, e)
		}
	}
	return found
}

func (c configuration) loadedTwice() (found []Conflict) {
	for _, e := range c.loadedByHand() {
		found = append(found, Conflict{
			Where:   e.position,
			Problem: fmt.Sprintf("%s loads the plugin from here already, and would load it twice", c.Harness.Name),
			Remedy:  fmt.Sprintf("remove %s from %q in this file", json.Quote(e.spec), e.list),
		})
	}
	return found
}
