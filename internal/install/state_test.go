package install

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/program"
)

func TestPluginIsFoundWhoeverListedIt(t *testing.T) {
	h := newHome(t)
	if found, err := FindPlugin(context.Background(), h.Place); found != nil || err != nil {
		t.Errorf("before the installation: %+v, %v", found, err)
	}
	plan := h.install()
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	found, err := FindPlugin(context.Background(), h.Place)
	if err != nil || found == nil || found.File != plan.File || found.Path != shim {
		t.Errorf("installed: %+v, %v", found, err)
	}
	project := h.Place
	project.Project = filepath.Join(h.root, "p")
	own := filepath.Join(project.Project, "opencode.json")
	h.write(own, `{"plugin": [["@magicctx/opencode@1.0.0", {}]]}`)
	found, err = FindPlugin(context.Background(), project)
	if err != nil || found == nil || found.File != own || found.Path != "" {
		t.Errorf("listed by hand in a project, as a package: %+v, %v", found, err)
	}
}

func TestCompactionIsRestoredAndInstalledAgain(t *testing.T) {
	for name, test := range map[string]struct{ before, restored string }{
		"not configured": {`{"model": "a/b"}`, `{"model": "a/b", "plugin": ["/opt/shim/index.js"]}`},
		"on":             {`{"compaction": {"auto": true, "prune": false}}`, `{"compaction": {"auto": true, "prune": false}, "plugin": ["/opt/shim/index.js"]}`},
		"off":            {`{"compaction": {"auto": false}}`, `{"compaction": {"auto": false}, "plugin": ["/opt/shim/index.js"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			file := filepath.Join(h.dir, "opencode.json")
			h.write(file, test.before)
			if _, err := RestoreCompaction(context.Background(), h.Place); !errors.Is(err, ErrNotInstalled) {
				t.Errorf("without an installation: %v", err)
			}
			apply(t, h.install())
			installed := h.read(file)
			if off, err := CompactionOff(context.Background(), h.Place); off != file || err != nil {
				t.Errorf("installed: compaction is off in %q (%v), want %s", off, err, file)
			}
			plan, err := RestoreCompaction(context.Background(), h.Place)
			if err != nil {
				t.Fatal(err)
			}
			apply(t, plan)
			if got := h.read(file); got != test.restored {
				t.Errorf("restored:\n%s\nwant\n%s", got, test.restored)
			}
			off, err := CompactionOff(context.Background(), h.Place)
			if wasOff := strings.Contains(test.before, `"auto": false`); (off != "") != wasOff || err != nil {
				t.Errorf("restored: compaction is off in %q (%v), before it was %t", off, err, wasOff)
			}
			if again, err := RestoreCompaction(context.Background(), h.Place); err != nil || !again.IsEmpty() {
				t.Errorf("a second time: %+v, %v", again, err)
			}
			apply(t, h.install())
			if off, err := CompactionOff(context.Background(), h.Place); off != file || err != nil {
				t.Errorf("installed again: compaction is off in %q (%v)\n%s\nfirst it was\n%s", off, err, h.read(file), installed)
			}
			plan, err = Uninstall(context.Background(), h.Place)
			if err != nil {
				t.Fatal(err)
			}
			apply(t, plan)
			if got := h.read(file); got != test.before {
				t.Errorf("uninstalled:\n%s\nwant\n%s", got, test.before)
			}
		})
	}
}

// An installation has switched compaction off. Then another context plugin appears, so the next installation is
// refused. Its error must offer `doctor --fix`, which switches compaction on again.
func TestConflictOffersCompaction(t *testing.T) {
	h := newHome(t)
	apply(t, h.install())
	h.write(filepath.Join(h.dir, "plugins", "dcp.ts"), "")
	_, err := Install(context.Background(), h.Options)
	if err == nil || !strings.Contains(err.Error(), program.Name()+" doctor --fix") {
		t.Errorf("install: %v", err)
	}
}

func apply(t *testing.T, p *Plan) {
	t.Helper()
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
}
