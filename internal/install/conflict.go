package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Conflict is something in a configuration that cannot work beside magicctx, for example a second
// plugin that compacts sessions.
type Conflict struct {
	Where   string // file, or file:line:column
	Problem string
	Remedy  string // the action that resolves it, as an imperative
}

// A ConflictError lists the reasons why nothing was installed.
type ConflictError struct {
	Conflicts []Conflict
	// CompactionOff is the configuration in which an earlier installation has switched OpenCode's own
	// compaction off, empty if none has.
	CompactionOff string
}

// Error lists the conflicts, each with its remedy.
func (e *ConflictError) Error() string {
	var b strings.Builder
	b.WriteString("nothing was changed, because magicctx cannot work beside this:")
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "\n  %s\n    %s\n    to solve it: %s", c.Where, c.Problem, c.Remedy)
	}
	if e.CompactionOff != "" {
		fmt.Fprintf(&b, "\nOpenCode's own compaction is off in %s; until this is solved, magicctx-host doctor --fix gives it back", e.CompactionOff)
	}
	return b.String()
}

var (
	orchestrators = []string{"oh-my-opencode", "oh-my-openagent"}
	// orchestratorHooks are hooks that compact a session, or warn about its size, on their own.
	orchestratorHooks = []string{"preemptive-compaction", "context-window-monitor", "anthropic-context-window-limit-recovery"}
)

// findConflicts searches all configurations that apply at the place.
func findConflicts(ctx context.Context, p Place, target *document) ([]Conflict, error) {
	files, dirs := p.inForce()
	var found []Conflict
	wins := false // whether OpenCode merges the file over the target
	for _, file := range files {
		d := target
		if file != target.file {
			var err error
			if d, err = readDocument(file); errors.Is(err, os.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		if wins {
			found = append(found, compactionConflicts(d, target.file)...)
		}
		wins = wins || file == target.file
		inFile, err := pluginConflicts(ctx, d, dirs)
		if err != nil {
			return nil, err
		}
		found = append(found, inFile...)
	}
	return append(found, discoveredConflicts(dirs)...), nil
}

// compactionConflicts finds compaction that is switched on in a file that OpenCode merges over the
// edited one.
func compactionConflicts(d *document, target string) (found []Conflict) {
	compaction, err := compactionOf(d)
	if err != nil || compaction == nil {
		return nil
	}
	for _, key := range compactionKeys {
		if m := member(compaction, key); m != nil && isTrue(m.Value) {
			found = append(found, Conflict{
				Where:   d.position(m.Value),
				Problem: fmt.Sprintf("compaction.%s is on here, and this file wins over %s", key, target),
				Remedy:  fmt.Sprintf("set compaction.%s to false in this file, or remove it", key),
			})
		}
	}
	return found
}

// pluginConflicts finds competing plugins in one configuration. dirs are the directories in which
// plugins keep their own configuration.
func pluginConflicts(ctx context.Context, d *document, dirs []string) (found []Conflict, err error) {
	plugins, err := pluginsOf(d)
	if err != nil || plugins == nil {
		return nil, err
	}
	for i := range plugins.Elements {
		entry := specOf(&plugins.Elements[i])
		if entry == nil {
			continue
		}
		spec := mustText(*entry)
		if isShim(spec) {
			continue
		}
		c, err := competitorOf(ctx, d.file, spec)
		if err != nil {
			return nil, err
		}
		if c != nil {
			found = append(found, Conflict{
				Where:   d.position(*entry),
				Problem: fmt.Sprintf(c.problem, spec),
				Remedy:  fmt.Sprintf("remove %s from \"plugin\" in this file", json.Quote(spec)),
			})
		}
		name, _, err := pluginName(ctx, d.file, spec)
		if err != nil {
			return nil, err
		}
		if slices.Contains(orchestrators, name) {
			found = append(found, orchestratorConflicts(d.position(*entry), name, dirs)...)
		}
	}
	return found, nil
}

// orchestratorConflicts lists the hooks that no configuration of the orchestrator disables.
func orchestratorConflicts(where, name string, dirs []string) (found []Conflict) {
	var disabled []string
	configuration := filepath.Join(dirs[0], name+".json")
	for _, dir := range dirs {
		for _, base := range orchestrators {
			for _, suffix := range []string{".jsonc", ".json"} {
				d, err := readDocument(filepath.Join(dir, base+suffix))
				if err != nil {
					continue
				}
				configuration = d.file
				disabled = append(disabled, listOf(d, "disabled_hooks")...)
			}
		}
	}
	for _, hook := range orchestratorHooks {
		if !slices.Contains(disabled, hook) {
			found = append(found, Conflict{
				Where:   where,
				Problem: fmt.Sprintf("the hook %s of %s acts on the size of the session, too", hook, name),
				Remedy:  fmt.Sprintf("add %q to \"disabled_hooks\" in %s", hook, configuration),
			})
		}
	}
	return found
}

func listOf(d *document, key string) (list []string) {
	m := member(d.root, key)
	if m == nil {
		return nil
	}
	array, ok := m.Value.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	for _, e := range array.Elements {
		if s, ok := text(e); ok {
			list = append(list, s)
		}
	}
	return list
}
