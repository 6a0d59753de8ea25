package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// A callGuard protects calls from the rules that need no pressure:
// DuplicateCalls, SupersededWrites and OldErrors.
type callGuard struct {
	knobs Knobs
	// lastTag and lastStep are the newest tag and the newest step that are old enough to be changed.
	lastTag, lastStep int
}

// guard returns the guard for a rule that does not change the newest steps.
func (v View) guard(k Knobs, steps int) callGuard {
	return callGuard{knobs: k, lastTag: v.cutoff(k), lastStep: v.steps() - steps}
}

// protects reports whether the call u in message m stays whole, because it is too new, or because the user protects its
// tool or its file.
func (g callGuard) protects(m *Message, it *Item, u *frozen.Unit) bool {
	return it.Tag > g.lastTag || m.Step > g.lastStep || g.knobs.protectsTool(u.Tool) || g.knobs.protectsPath(it.Path)
}
