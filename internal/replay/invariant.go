package replay

import (
	"regexp"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// These invariants can be checked on the wire alone, without the host's state.
const (
	steadyIsAppendOnly = "steady is append-only"
	oneEffectPerBust   = "first application only on a bust"
	arcsAreAtomic      = "tool arcs are atomic"
	signedIsUntouched  = "signed content is untouchable"
	onePlaceholder     = "one placeholder"
	userTurnsStay      = "user turns stay"
)

var dropText = regexp.MustCompile(`^\[dropped §\d+§\]$`)

type observation struct {
	verdict schema.Verdict
	// The recorded array only grew since the previous pass.
	grew          bool
	before, after []render.Rendered
	// `dropped` holds the placeholders that the session has shown so far, for example `[dropped §12§]`.
	dropped map[string]bool
}

func broken(o observation) []string {
	hit := make(map[string]bool)
	if o.verdict == schema.Steady && o.grew && commonPrefix(o.before, o.after) < visible(o.before) {
		hit[steadyIsAppendOnly] = true
	}
	for i := range o.after {
		checkMessage(&o.after[i], o, hit)
	}
	var names []string
	for _, name := range []string{steadyIsAppendOnly, oneEffectPerBust, arcsAreAtomic, signedIsUntouched, onePlaceholder, userTurnsStay} {
		if hit[name] {
			names = append(names, name)
		}
	}
	return names
}

func checkMessage(r *render.Rendered, o observation, hit map[string]bool) {
	if r.Raw.Role == transcript.User && len(r.Raw.Blocks) > 0 && len(r.Wire.Blocks) == 0 {
		hit[userTurnsStay] = true
	}
	open := 0
	for i := range r.Wire.Blocks {
		b := &r.Wire.Blocks[i]
		switch b.Kind {
		case render.CallBlock:
			open++
		case render.ResultBlock:
			open--
		case render.ReasoningBlock:
			if b.Signature != nil && !holds(r.Raw.Blocks, b) {
				hit[signedIsUntouched] = true
			}
		}
		if b.Kind != render.ReasoningBlock && len(b.Text) > len("[dropped ") && b.Text[:len("[dropped ")] == "[dropped " && !holds(r.Raw.Blocks, b) {
			if !dropText.MatchString(b.Text) {
				hit[onePlaceholder] = true
			}
			if !o.dropped[b.Text] && o.verdict == schema.Steady && o.grew {
				hit[oneEffectPerBust] = true
			}
			o.dropped[b.Text] = true
		}
	}
	if open != 0 {
		hit[arcsAreAtomic] = true
	}
}

func holds(blocks []render.Block, b *render.Block) bool {
	for i := range blocks {
		if blocks[i].Kind == b.Kind && blocks[i].Text == b.Text && string(blocks[i].Signature) == string(b.Signature) {
			return true
		}
	}
	return false
}

func visible(all []render.Rendered) int {
	n := 0
	for i := range all {
		if len(all[i].Wire.Blocks) > 0 {
			n++
		}
	}
	return n
}

func commonPrefix(a, b []render.Rendered) int {
	n, j := 0, 0
	for i := range a {
		if len(a[i].Wire.Blocks) == 0 {
			continue
		}
		for j < len(b) && len(b[j].Wire.Blocks) == 0 {
			j++
		}
		if j == len(b) || a[i].Wire.Hash() != b[j].Wire.Hash() {
			return n
		}
		n++
		j++
	}
	return n
}
