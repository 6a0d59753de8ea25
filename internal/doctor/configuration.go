package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
)

const slowFile = "look for very long entries in the file"

func (x *examination) plugin(ctx context.Context) {
	if x.Installed == nil {
		return
	}
	file, err := x.Installed(ctx)
	switch {
	case ctx.Err() != nil:
		x.warn(slowFile, "%v", err)
	case err != nil:
		x.fail("correct the file; the harness cannot read it either", "%v", err)
	case file == "":
		x.warn("magicctx-host install opencode", "no configuration of OpenCode names the plugin")
	default:
		x.ok("OpenCode loads the plugin, see %s", file)
		x.pluginFile(ctx)
	}
	x.shim(ctx)
}

// shim examines the plugin that install has put into the data directory.
func (x *examination) shim(ctx context.Context) {
	if x.Shim == nil {
		return
	}
	found, err := x.Shim(ctx)
	if err != nil {
		x.fail("run magicctx-host install opencode", "%v", err)
		return
	}
	for _, p := range found {
		report := x.warn
		if p.IsFatal {
			report = x.fail
		}
		report(fmt.Sprintf("%s install opencode", x.Executable), "%s", p.Problem)
		x.fixable(x.RenewShim)
	}
}

var harnessNames = map[schema.Harness]string{schema.HarnessOpenCode: "OpenCode", schema.HarnessPi: "Pi"}

func (x *examination) configuration(context.Context) {
	told := map[string]bool{} // both harnesses read some of the same files; each warning is shown once
	var off []string          // the harnesses for which magicctx is switched off
	for _, harness := range []schema.Harness{schema.HarnessOpenCode, schema.HarnessPi} {
		cfg, warnings := config.Load(config.Options{Harness: harness, Directory: x.Directory, Env: x.Env})
		for _, w := range warnings {
			if !told[w.Message] {
				told[w.Message] = true
				x.warn("correct it in "+w.File, "%s", w.Message)
			}
		}
		if !cfg.Enabled {
			off = append(off, harnessNames[harness])
		}
	}
	switch {
	case len(off) > 0:
		x.warn(`set "enabled" to true in magicctx.jsonc to use it here`, "magicctx is switched off for %s in %s (enabled: false)", strings.Join(off, " and "), x.Directory)
		x.findings[len(x.findings)-1].stops = slices.Contains(off, harnessNames[schema.HarnessOpenCode])
	case len(told) == 0:
		x.ok("the configuration is taken as written")
	}
}

func (x *examination) conflicts(ctx context.Context) {
	if x.Conflicts == nil {
		return
	}
	found, err := x.Conflicts(ctx)
	if ctx.Err() != nil {
		x.warn(slowFile, "%v", err)
		return
	}
	if err != nil {
		x.fail("correct the file; the harness cannot read it either", "%v", err)
		return
	}
	for _, c := range found {
		x.fail(c.Remedy, "%s: %s", c.Where, c.Problem)
	}
	if len(found) == 0 {
		x.ok("nothing else works on the same sessions")
	}
}
