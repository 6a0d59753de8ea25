package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// A callGuard protects calls from the rules that need no pressure: DuplicateCalls, SupersededWrites and OldErrors.
type callGuard struct {
	knobs             Knobs
	lastTag, lastStep int
}

func (v View) guard(k Knobs, steps int) callGuard {
	return callGuard{knobs: k, lastTag: v.cutoff(k), lastStep: v.steps() - steps}
}

func (g callGuard) protects(m *Message, it *Item, u *frozen.Unit) bool {
	return it.Tag > g.lastTag || m.Step > g.lastStep || g.knobs.protectsTool(u.Tool) || g.knobs.protectsPath(it.Path)
}
