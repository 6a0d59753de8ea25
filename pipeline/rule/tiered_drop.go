package rule

import (
	"math"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

const (
	// tierTarget determines how large the prompt may be after the drop. A part of the prompt is irreducible. The prompt
	// may also use 30 % of the space between this part and the ceiling. For example, with 40,000 irreducible tokens and
	// a ceiling of 78,000, the target is 40,000 + 0.3 · 38,000 = 51,400.
	tierTarget = 0.30
	// In tier 1 and in tier 2, the newest fifth of the tool outputs is not dropped.
	tierReserve = 0.20
	// If minReclaim tokens or fewer have to be freed, the tiered drop does nothing.
	minReclaim = 2000
)

// lastTier is the tier of all tools without a rank (Facts.Tier is 0).
const lastTier = 3

func (f *Facts) tier() int {
	if f.Tier > 0 {
		return f.Tier
	}
	return lastTier
}

// TieredDrop frees space when the window is nearly full. It drops whole tool outputs, by tier and then oldest first,
// until the prompt is below both the goal's target and the target from tierTarget.
func TieredDrop(v View, k Knobs) []frozen.Edit {
	if !v.Goal.Measured {
		return nil
	}
	plan := tierPlan{
		MaxTag: v.State.TagCounter(), Protected: k.ProtectedTags,
		Current: v.Goal.Current - freedSoFar(v), Ceiling: v.Goal.Ceiling, Target: v.Goal.Target,
	}
	items := v.items()
	for u := range v.State.Units() {
		if !u.Active() {
			continue
		}
		tokens := u.Freed(frozen.Edit{Tag: u.Tag, Kind: frozen.Drop})
		plan.Tail += tokens
		it, visible := items[u.Tag]
		if u.Kind == frozen.ToolUnit && visible && !it.Open && u.Kept == 0 && !k.protectsPath(it.Path) {
			plan.Candidates = append(plan.Candidates, tierCandidate{u.Tag, it.tier(), tokens})
		}
	}
	tags, _ := plan.choose()
	edits := make([]frozen.Edit, len(tags))
	for i, tag := range tags {
		edits[i] = frozen.Edit{Tag: tag, Kind: frozen.Drop}
	}
	return edits
}

func freedSoFar(v View) int { return v.Goal.Current - v.Goal.Target - v.Need }

type tierCandidate struct{ tag, tier, tokens int }

// A tierPlan computes which tool outputs to drop. Tail is the number of tokens of all active units. The plan treats the
// rest of the prompt as irreducible. If Tail left out the texts, the plan would treat them as irreducible, too, and
// would drop too little (bug class B14 in docs/defects.md).
type tierPlan struct {
	MaxTag, Protected              int
	Current, Ceiling, Target, Tail int
	Candidates                     []tierCandidate // in ascending order of tags
}

func (p tierPlan) choose() (tags []int, reclaim int) {
	if p.Ceiling <= 0 || p.Current <= 0 {
		return nil, 0
	}
	floor := max(p.Current-p.Tail, 0)
	target := float64(floor) + tierTarget*float64(max(p.Ceiling-floor, 0))
	if p.Target > 0 {
		target = min(target, float64(p.Target))
	}
	reclaim = int(math.Floor(float64(p.Current) - target + 0.5))
	if reclaim <= minReclaim {
		return nil, 0
	}
	reserved := p.reserved()
	freed := 0
	for tier := lastTier; tier >= 1; tier-- {
		for _, c := range p.Candidates {
			if freed >= reclaim {
				return tags, reclaim
			}
			if c.tier == tier && !reserved[c.tag] && c.tag <= p.MaxTag-p.Protected {
				tags = append(tags, c.tag)
				freed += c.tokens
			}
		}
	}
	if len(tags) == 0 {
		return nil, 0
	}
	return tags, reclaim
}

// The method `reserved` returns the newest candidates of tier 1 and of tier 2, for example 2 of 10, which the plan does
// not drop.
func (p tierPlan) reserved() map[int]bool {
	reserved := make(map[int]bool)
	for tier := 1; tier <= 2; tier++ {
		var tags []int
		for _, c := range p.Candidates {
			if c.tier == tier {
				tags = append(tags, c.tag)
			}
		}
		n := int(math.Ceil(tierReserve * float64(len(tags))))
		for _, tag := range tags[len(tags)-n:] {
			reserved[tag] = true
		}
	}
	return reserved
}
