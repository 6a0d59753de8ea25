package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// SkeletonWindow is how many of the newest tool units keep a skeleton when
// they are dropped (spec transform §3).
const SkeletonWindow = 20

// View is what a rule may look at.
type View struct {
	State *frozen.State
	// Messages is the transcript, oldest first.
	Messages []Message
	// PrefixIsGone says that the provider has nothing cached any more (a hard
	// pass), so that nothing is worth waiting for.
	PrefixIsGone bool
	// Occasion is the gravest that the pass is: rules of it and of all before it
	// are asked.
	Occasion Occasion
	Goal     Goal
	// Need is how many tokens the goal still asks for; it is at most 0 when
	// earlier rules have freed enough.
	Need int
}

// Goal is what a pass wants to get down to, in tokens.
type Goal struct {
	// Current is the size of the next prompt, Ceiling the execute threshold,
	// Target the low mark, the size that the pass wants to reach.
	Current, Ceiling, Target int
	// Measured says that the prompt has been measured since the last bust: acting
	// on the same measurement twice would drop the rest of the tail (bug class
	// A29). It is also set where what that bust freed still leaves an emergency,
	// and where the provider reports nothing.
	Measured bool
}

// of is how many tokens the goal asks the rules of an occasion to free. What
// only an emergency takes is taken back to the ceiling and no further.
func (g Goal) of(o Occasion) int {
	if o == Emergency {
		return g.Current - max(g.Target, g.Ceiling)
	}
	return g.Current - g.Target
}

// A Message is what a rule may know of a message.
type Message struct {
	Role Role
	// Step counts the model's steps up to this message.
	Step  int
	Items []Item
	// Thinks says that the message has reasoning, or text that thinks, which
	// the provider lets us leave out.
	Thinks bool
	// ThoughtTokens is about what that weighs; a unit does not count it.
	ThoughtTokens int
	// Solid says that the message holds something that is neither a unit nor
	// reasoning that may be left out, so that it is never an empty shell.
	Solid bool
}

// Role is who a message is from.
type Role uint8

// The roles.
const (
	User Role = iota
	Assistant
)

// An Item is a unit in its place in the transcript.
type Item struct {
	Tag int
	Facts
}

// Facts is what rules know of a unit's content. They are read off the content
// when it is first seen, because it never changes.
type Facts struct {
	// Open says that a tool arc has no result yet, so that it stays (B12).
	Open bool
	// Failed says that the result reports an error.
	Failed bool
	// Call identifies an idempotent call and its arguments; zero for others.
	Call uint64
	// Path is the file that a call reads or writes; empty for others. Writes
	// says that the call replaces what the file held.
	Path   string
	Writes bool
	// LongInput says that a Clamp would shorten the arguments.
	LongInput bool
	// Image says that a file is an image which the model has in its request.
	Image bool
	// Injected says that a text holds blocks that a harness put in; InjectedOnly
	// that nothing but them is there, Notice that it is one as a whole.
	Injected, InjectedOnly, Notice bool
}

// Knobs are the settings that rules read.
type Knobs struct {
	// ProtectedTags is how many of the newest active units an agent's drop
	// must wait for.
	ProtectedTags int
	// ReasoningAge is the age in tags from which reasoning is left out.
	ReasoningAge int
	// DropsStaleReduceCalls says that the provider takes an assistant message
	// from which a call of ctx_reduce has been left out.
	DropsStaleReduceCalls bool
	// Deduplicate, ClampSupersededWrites and ClampOldErrors switch rules on.
	Deduplicate, ClampSupersededWrites, ClampOldErrors bool
	// ErrorSteps is after how many steps of the model the arguments of a
	// failed call are shortened.
	ErrorSteps int
	// TurnProtection is how many of the newest steps those three leave alone.
	TurnProtection int
	// IsProtectedTool and IsProtectedPath say what those three never touch; the
	// tool reclaim and the tiered drop leave protected paths alone, too.
	IsProtectedTool, IsProtectedPath func(string) bool
	// CompressFrom is the size in bytes from which old text is compressed; 0
	// switches it off, as where the model can drop things itself.
	CompressFrom int
}

func (k Knobs) protectsTool(name string) bool {
	return k.IsProtectedTool != nil && k.IsProtectedTool(name)
}

func (k Knobs) protectsPath(path string) bool {
	return path != "" && k.IsProtectedPath != nil && k.IsProtectedPath(path)
}

// eachItem calls f for every item of the transcript, oldest first.
func (v View) eachItem(f func(m *Message, it *Item, u *frozen.Unit)) {
	for i := range v.Messages {
		m := &v.Messages[i]
		for j := range m.Items {
			if u := v.State.ByTag(m.Items[j].Tag); u != nil {
				f(m, &m.Items[j], u)
			}
		}
	}
}

// items returns the items by tag.
func (v View) items() map[int]Item {
	all := make(map[int]Item)
	v.eachItem(func(_ *Message, it *Item, _ *frozen.Unit) { all[it.Tag] = *it })
	return all
}

// open returns the visible arcs without a result. A unit that is not visible may
// be edited.
func (v View) open() map[int]bool {
	open := make(map[int]bool)
	v.eachItem(func(_ *Message, it *Item, _ *frozen.Unit) {
		if it.Open {
			open[it.Tag] = true
		}
	})
	return open
}

// unread returns the arcs whose results the model has not read: those of the
// newest message, if it is the model's own. Age does not always protect them:
// reverted messages count as newer.
func (v View) unread() map[int]bool {
	unread := make(map[int]bool)
	if n := len(v.Messages); n > 0 && v.Messages[n-1].Role == Assistant {
		for _, it := range v.Messages[n-1].Items {
			if u := v.State.ByTag(it.Tag); u != nil && u.Kind == frozen.ToolUnit {
				unread[it.Tag] = true
			}
		}
	}
	return unread
}

// cutoff is the highest tag that age alone no longer protects (spec transform
// §15).
func (v View) cutoff(k Knobs) int { return v.State.TagCounter - k.ProtectedTags }

// steps is the number of the model's steps so far.
func (v View) steps() int {
	if len(v.Messages) == 0 {
		return 0
	}
	return v.Messages[len(v.Messages)-1].Step
}
