package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/magicctx/magicctx-host/internal/config"
)

const slowFile = "look for very long entries in the file"

func (x *examination) plugin(ctx context.Context) {
	isInstalled := x.isInstalled(ctx)
	x.eachUsed(ctx, func(h Harness) {
		if h.Installed == nil {
			return
		}
		file, err := h.Installed(ctx)
		switch {
		case ctx.Err() != nil:
			x.warn(slowFile, "%v", err)
		case err != nil:
			x.fail("correct the file; the harness cannot read it either", "%v", err)
		case file == "" && isInstalled: // a user who has installed one plugin may not use the other harness
			x.ok("no configuration of %s names the plugin; %s adds it", h.Name, x.install(h))
		case file == "":
			x.warn(x.install(h), "no configuration of %s names the plugin", h.Name)
		default:
			problem, remedy := h.entryProblem(ctx)
			if problem != "" {
				x.warn(remedy, "%s", problem)
				break
			}
			x.ok("%s loads the plugin, see %s", h.Name, file)
		}
		if hasHost := x.shim(ctx, h); err == nil && file != "" {
			x.pluginFile(ctx, h, hasHost)
		}
	})
}

func (x *examination) isInstalled(ctx context.Context) bool {
	return slices.ContainsFunc(x.Harnesses, func(h Harness) bool { return h.isListed(ctx) })
}

// shim reports whether the installed plugin can find a host.
func (x *examination) shim(ctx context.Context, h Harness) (hasHost bool) {
	if h.Shim == nil {
		return true
	}
	found, err := h.Shim(ctx)
	if err != nil {
		x.fail(x.reinstall(h), "%v", err)
		return false
	}
	hasHost = true
	for _, p := range found {
		if p.Program != "" {
			if _, err := x.VersionOf(ctx, p.Program); err != nil && !errors.Is(err, errSlow) {
				p.Problem, p.IsFatal = fmt.Sprintf("the plugin starts %s, which does not run: %v", p.Program, err), true
			}
		}
		report := x.warn
		if p.IsFatal {
			report, hasHost = x.fail, false
		}
		report(fmt.Sprintf("%s install %s", x.Executable, h.ID), "%s", p.Problem)
		x.fixable(h.RenewShim)
	}
	return hasHost
}

func (x *examination) configuration(ctx context.Context) {
	told := map[string]bool{} // the harnesses read some of the same files; each warning is shown once
	isOff := false
	x.eachUsed(ctx, func(h Harness) {
		o := config.Options{Harness: h.ID, Directory: x.Directory, Env: x.Env}
		cfg, warnings := config.Load(o)
		for _, w := range warnings {
			if !told[w.Message] {
				told[w.Message] = true
				x.warn("correct or remove it in "+w.File, "%s", w.Message)
			}
		}
		if !cfg.Enabled {
			isOff = true
			place := config.DisabledAt(o)
			x.warn(fmt.Sprintf(`set "enabled" to true in %s to use it here`, place), "magicctx is switched off for %s in %s (enabled: false in %s)", h.Name, x.Directory, place)
			x.findings[len(x.findings)-1].stops = true
		}
	})
	if !isOff && len(told) == 0 {
		x.ok("the configuration is taken as written")
	}
}

func (x *examination) conflicts(ctx context.Context) {
	isFree, isInstalled := true, x.isInstalled(ctx)
	x.eachUsed(ctx, func(h Harness) {
		if h.Conflicts == nil || isInstalled && !h.isListed(ctx) { // another plugin may work while ours does not
			return
		}
		found, err := h.Conflicts(ctx)
		isFree = isFree && err == nil && len(found) == 0
		switch {
		case ctx.Err() != nil:
			x.warn(slowFile, "%v", err)
			return
		case err != nil:
			x.fail("correct the file; the harness cannot read it either", "%v", err)
			return
		}
		for _, c := range found {
			x.fail(c.Remedy, "%s: %s", c.Where, c.Problem)
		}
	})
	if isFree {
		x.ok("nothing else works on the same sessions")
	}
}
