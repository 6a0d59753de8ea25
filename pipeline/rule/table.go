package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

type Rule struct {
	Name string
	// On is the least urgent occasion on which a pass asks the rule.
	On Occasion
	// Propose returns the edits that the rule wants. Propose is pure.
	Propose func(View, Knobs) []frozen.Edit
}

// Occasion says how urgent a bust is. The more urgent it is, the more rules the pass asks.
type Occasion int

const (
	// AnyBust: no other occasion applies. Every bust asks the rules of AnyBust, because they remove nothing that the
	// model needs.
	AnyBust Occasion = iota
	// Pressure: an episode needs space. The rules of Pressure remove content until enough tokens are free.
	Pressure
	// Force: the prompt has reached the force level, 85 % of the window.
	Force
	// Emergency: the prompt has reached 95 % of the window, so the next request may not fit.
	Emergency
)

// Table lists the rules in the order in which they propose. A later rule sees the edits of the earlier rules, so that
// no token is freed twice. TestOrderOfTheTable checks the pairs of rules whose order matters. A new rule belongs to one
// of these groups:
//
//  1. QueuedDrops is first, because it alone decides how a unit that the model has marked is dropped. ProcessedImages
//     depends on the dropped units, so it comes later.
//  2. The other rules of AnyBust follow. They remove nothing that the model needs, so the tokens that they free
//     are counted before other content is removed. A rule that drops a call precedes a rule that only shortens it.
//  3. The rules that free space come next: tool output that an earlier pass could have dropped, then skeletons, then
//     other tool output. After these come texts next to dropped calls.
//  4. The rules of an Emergency are the last resort: first protected tool output, then texts and files, then even
//     content that the model has not read, and last content that the user keeps.
//  5. Rules that depend on the result of all others come last: SpentReasoning is for messages whose content was
//     dropped, and EmptyShells for empty messages.
//
// A rule that frees space (On is above AnyBust) is skipped if the rules before it have already freed enough. The table
// is not sorted by occasion: "spent narration" is asked from Pressure on, but comes after the rules of the force level,
// so that it drops texts only if dropping tool output was not enough.
//
// These places decide the final form of a drop, in this order:
//
//   - QueuedDrops and ToolReclaim propose a Skeleton for one of the newest tools (SkeletonWindow). QueuedDrops also
//     proposes a Skeleton for a result that the model has not read.
//   - Propose discards each edit of a call without a result, and each edit of the words in the user's newest prompt
//     until the model has answered it. Text that a harness has injected into that prompt may be removed.
//   - Propose discards each edit of content that the user keeps, except the edits of KeptPieces.
//   - Propose discards each edit of a result that the model has not read (View.unread). It keeps a Withhold and, if
//     the request does not fit, a Clamp. If a drop of that result is queued, the edit becomes a Skeleton.
//   - Propose makes a Drop a Skeleton if the result has to separate the newest two steps (View.separating), or if the
//     arc is the last call of a message that has to keep one (View.lastCalls).
//   - Propose discards an edit whose unit is unknown, or already has this edit or a stronger edit.
//   - On a soft pass, Session.propose (pipeline/decide.go) adds nothing if the bust costs more than it saves. On any
//     pass, the host refuses all edits if the pass breaks a rule of the provider or cannot be stored (Pass.run in
//     internal/pass/pass.go).
//   - Options.Patch (pipeline/render/message.go) normally removes a call with a stored Drop. If the message has to keep
//     a call and all others were removed (Frame.KeepsCall), the call becomes a skeleton instead. If steps may only be
//     removed whole (Profile.StepsLeaveWhole), the call becomes a skeleton as long as another call or a text of the
//     message stays. When nothing else stays, Patch removes the whole answer. With any profile, it also does so if only
//     blank text would be left. A dropped text or file becomes the placeholder, unless its message is a shell.
//
// After some edits, the provider would refuse some of the thinking. No rule removes this thinking. Instead, each
// rendering does (messageRenderer.reasoning and messageRenderer.contents in pipeline/render), in three cases: the last
// call of the message is removed; the results of the message before it were removed; or the model binds its thinking,
// and something before the thinking has changed (Session.holds).
var Table = []Rule{
	{queuedDrops, AnyBust, QueuedDrops},
	{"stale ctx_reduce calls", AnyBust, StaleReduceCalls},
	{"duplicate calls", AnyBust, DuplicateCalls},
	{"superseded writes", AnyBust, SupersededWrites},
	{"old errors", AnyBust, OldErrors},
	{"processed images", AnyBust, ProcessedImages},
	{"injected blocks", AnyBust, InjectedBlocks},
	{"old reasoning", AnyBust, OldReasoning},
	{"old text", AnyBust, OldText},
	{"tool reclaim", Pressure, ToolReclaim},
	{"old skeletons", Force, OldSkeletons},
	{"tiered drop", Force, TieredDrop},
	{"spent narration", Pressure, SpentNarration},
	{"protected results", Emergency, ProtectedResults},
	{"oldest texts", Emergency, OldestTexts},
	{"unfit content", Emergency, UnfitContent},
	{keptPieces, Emergency, KeptPieces},
	{"spent reasoning", Pressure, SpentReasoning},
	{"empty shells", AnyBust, EmptyShells},
}

const queuedDrops = "queued drops"

// keptPieces is the name of the only rule that may remove content that the user keeps.
const keptPieces = "kept pieces"

type Proposal struct {
	Edits []frozen.Edit
	// Released lists the tags of kept units that the rules have to remove.
	Released []int
	// Reasons holds the reason of each edit, in the order of Edits.
	Reasons []Reason
	// Freed estimates how many tokens the edits remove from the wire.
	Freed int
	// By maps the name of each rule to the tokens that its edits free.
	By map[string]int
	// After is the state with the edits laid over it.
	After *frozen.Overlay
}

// A Reason names the rule that has proposed an edit. Freed is the estimated number of tokens that the edit removes.
type Reason struct {
	Rule  string
	Freed int
}

func Propose(v View, k Knobs) Proposal {
	v.State = v.State.Clone()
	p := Proposal{By: make(map[string]int), After: v.State}
	thoughts, unread, separating, visible := v.thoughts(), v.unread(), v.separating(), v.items()
	lastCalls, needed := v.lastCalls(), v.needed()
	for _, r := range Table {
		on := k.occasionOf(&r)
		if on > v.Occasion {
			continue
		}
		v.Need = v.Goal.of(on) - p.Freed
		if on > AnyBust && v.Need <= 0 {
			continue
		}
		for _, e := range r.Propose(v, k) {
			isContent := e.Kind != frozen.Strip && e.Kind != frozen.Unthink
			if isContent && (needed[e.Tag] || v.isKept(e.Tag) && r.Name != keptPieces) {
				continue
			}
			isLastResort := e.Kind == frozen.Withhold || e.Kind == frozen.Clamp && v.Goal.Fit > 0
			if unread[e.Tag] && !isLastResort {
				// The model has not read this result. After a queued drop, the call stays as a skeleton, because the
				// request has to end with content that the model can answer.
				if !v.State.Queued(e.Tag) {
					continue
				}
				e.Kind = frozen.Skeleton
			}
			if arcs := lastCalls[e.Tag]; e.Kind == frozen.Drop && (separating[e.Tag] || arcs != nil && v.areDroppedBut(e.Tag, arcs)) {
				e.Kind = frozen.Skeleton
			}
			u := v.State.ByTag(e.Tag)
			if u == nil || u.Covers(e) {
				continue
			}
			freed := u.Freed(e)
			if e.Kind == frozen.Unthink {
				freed = thoughts[e.Tag]
			}
			if _, ok := visible[e.Tag]; !ok {
				freed = 0 // a reverted unit is in no prompt, so dropping it frees nothing
			}
			p.Freed += freed
			if freed > 0 {
				p.By[r.Name] += freed
			}
			p.Edits, p.Reasons = append(p.Edits, e), append(p.Reasons, Reason{r.Name, freed})
			if isContent && u.Kept != 0 {
				p.Released = append(p.Released, e.Tag)
			}
			v.State.Lay(e)
		}
	}
	return p
}
