package rule

import "github.com/magicctx/magicctx-host/pipeline/frozen"

// SkeletonWindow is the number of newest tool units that leave a skeleton on the wire when they are dropped. An older
// arc is removed whole.
const SkeletonWindow = 20

type View struct {
	// State is the frozen state, plus the edits that earlier rules have proposed in this pass.
	State *frozen.Overlay
	// ReclaimUpTo is the highest tag that existed at the last pass that could have dropped outputs. ToolReclaim spares all
	// outputs with higher tags, so that the model sees each output on at least one pass.
	ReclaimUpTo int
	// Messages is the transcript, oldest first.
	Messages []Message
	// PrefixIsGone means that the provider will not use the cached prefix in any case: either the pass is hard, or the
	// rent has reached the price of a new prefix. Removing more content then costs nothing extra.
	PrefixIsGone bool
	// Occasion is the occasion of the pass.
	Occasion Occasion
	Goal     Goal
	// Need is the number of tokens that the rules still have to free to reach the goal.
	Need int
}

// Goal is the prompt size that a pass wants to reach, in tokens.
type Goal struct {
	// Current is the size of the next prompt. Ceiling is the execute threshold. Target is the low mark.
	Current, Ceiling, Target int
	// Fit is the size of the largest request that fits. It is set only if the provider has refused the last request, or
	// if this request is clearly larger than the window.
	Fit int
	// Measured means that the size can be trusted after a bust: the provider has reported a usage since the bust, or
	// the host counts all prompts itself. If a pass relied on the usage from before the bust, it would drop the rest of
	// the tail (bug class A29 in docs/defects.md). In an emergency, Measured is always true.
	Measured bool
}

// The method `of` returns how many tokens have to be freed on this occasion. In an emergency, the rules free space only
// down to the ceiling, and not down to the target.
func (g Goal) of(o Occasion) int {
	if o == Emergency {
		return g.Current - max(g.Target, g.Ceiling)
	}
	return g.Current - g.Target
}

type Message struct {
	Role Role
	// Step is the number of steps that the model has taken up to this message.
	Step  int
	Items []Item
	// Thinks means that the message contains thinking that this provider allows the host to remove. The thinking may
	// also be inside a text.
	Thinks bool
	// LosesSpentThought means that the host may remove the message's reasoning once everything else in the message has
	// become a placeholder. Not every provider allows this.
	LosesSpentThought bool
	// ThoughtTokens is the estimated size of the reasoning that may be removed. The sizes of the units do not include
	// it.
	ThoughtTokens int
	// IsAsked means that the message is the user's newest prompt, and the model has not answered it.
	IsAsked bool
	// Silent means that no part of the message reaches the provider. An example is a status that only the user sees.
	Silent bool
	// Reasons means that the raw message has reasoning, signed or not.
	Reasons bool
	// Signed means that the raw message has signed thinking.
	Signed bool
	// HidesCalls means that an older answer with calls could become the last answer if this message were removed. The
	// provider might then require that the older answer starts with thinking.
	HidesCalls bool
	// KeepsCall means that one call of the message must stay on the wire (Frame.KeepsCall in pipeline/render).
	KeepsCall bool
	// HasUndroppable means that the message holds a part that is neither a unit
	// nor reasoning that may be left out. Such a message is never a shell.
	HasUndroppable bool
}

type Role uint8

const (
	User Role = iota
	Assistant
)

type Item struct {
	Tag int
	Facts
}

// Facts are the properties of a unit's content that rules use.
type Facts struct {
	// Open means that a tool arc has no result yet. A queued drop of the arc
	// waits (bug class B12 in docs/defects.md).
	Open bool
	// Failed means that the result reports an error.
	Failed bool
	// Call identifies a call of a tool that changes nothing. Two reads with the same arguments have the same number. It
	// is 0 for all other units.
	Call uint64
	// Again identifies a call whose output the model uses. Unlike Call, it also identifies shell commands, although
	// they may change something. With Again, the host finds out whether the model reads removed content again. It is 0
	// for all other units.
	Again uint64
	// Changes means that the call changes the file at Path. If Path is empty, the call may have changed any file.
	Changes bool
	// Path is the file that a call reads or writes. It is empty for other
	// units. Writes means that the call replaces the whole content of the file.
	Path   string
	Writes bool
	// Tier says how much the model needs the output of the tool: 1 is the most, 0 is unknown.
	Tier int
	// LongInput means that a Clamp edit would shorten the arguments.
	LongInput bool
	// Image means that a file part is an image that the request carries.
	Image bool
	// Injected means that a text holds blocks that a harness has added. InjectedOnly means that the text holds only
	// such blocks. Notice means that the whole text is one notice of the harness.
	Injected, InjectedOnly, Notice bool
	// Typed means that the unit holds words that the user has typed, or a file that the user has attached.
	Typed bool
}

type Knobs struct {
	// ProtectedTags is the number of newest active units that are protected, so their drops have to wait. Some rules also
	// use this number as an age: content that many tags or messages ago counts as old.
	ProtectedTags int
	// ReasoningAge is an age in tags. Reasoning that has reached this age is left out.
	ReasoningAge int
	// DropsStaleReduceCalls means that the provider still accepts an answer after the host has removed its call of
	// ctx_reduce.
	DropsStaleReduceCalls bool
	// Deduplicate switches on the rule DuplicateCalls. ClampSupersededWrites switches on SupersededWrites, and
	// ClampOldErrors switches on OldErrors.
	Deduplicate, ClampSupersededWrites, ClampOldErrors bool
	// ErrorSteps is the number of model steps after which the arguments of a failed call are shortened.
	ErrorSteps int
	// TurnProtection is the number of newest steps that DuplicateCalls, SupersededWrites and OldErrors do not change.
	TurnProtection int
	// IsProtectedTool and IsProtectedPath name the tools and files that DuplicateCalls, SupersededWrites and
	// OldErrors never touch. ToolReclaim and TieredDrop do not touch protected paths either.
	IsProtectedTool, IsProtectedPath func(string) bool
	// IsRegretted reports whether the models of this project often read again what the rule has removed. Such a rule
	// may propose edits only on the next more urgent occasion.
	IsRegretted func(rule string) bool
	// CompressFrom is the size in bytes from which old text is compressed. 0 switches compression off.
	CompressFrom int
}

// occasionOf returns the least urgent occasion on which the rule may propose edits. A regretted rule has to wait for
// the next more urgent occasion. This does not apply to queued drops, because the model itself asked for them. It does
// not apply to the rules of an emergency either, because no occasion is more urgent.
func (k Knobs) occasionOf(r *Rule) Occasion {
	if k.IsRegretted == nil || r.On >= Emergency || r.Name == queuedDrops || !k.IsRegretted(r.Name) {
		return r.On
	}
	return r.On + 1
}

func (k Knobs) protectsTool(name string) bool {
	return k.IsProtectedTool != nil && k.IsProtectedTool(name)
}

func (k Knobs) protectsPath(path string) bool {
	return path != "" && k.IsProtectedPath != nil && k.IsProtectedPath(path)
}

// eachItem calls f for all items from oldest to newest, except items without a unit.
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

func (v View) items() map[int]Item {
	all := make(map[int]Item)
	v.eachItem(func(_ *Message, it *Item, _ *frozen.Unit) { all[it.Tag] = *it })
	return all
}

// The method `needed` returns the units whose drop has to wait: open arcs, and the user's words in an unanswered
// prompt. The drop of a unit outside the transcript, for example after a revert, never has to wait.
func (v View) needed() map[int]bool {
	needed := make(map[int]bool)
	v.eachItem(func(m *Message, it *Item, _ *frozen.Unit) {
		if it.Open || m.IsAsked && it.Typed {
			needed[it.Tag] = true
		}
	})
	return needed
}

func (v View) isKept(tag int) bool {
	u := v.State.ByTag(tag)
	return u != nil && u.Kept != 0
}

// The method `unread` returns the arcs whose results the model has not read. ProtectedTags does not always protect
// them: reverted units may have higher tags, and then count as newer.
func (v View) unread() map[int]bool {
	if m := v.unanswered(); m != nil {
		return setOf(v.arcsOf(m))
	}
	return nil
}

// The method `unanswered` returns the newest message that the provider sees, or nil if the model did not write that
// message. The model has not read the results in this message yet.
func (v View) unanswered() *Message {
	i := len(v.Messages) - 1
	for i >= 0 && v.Messages[i].Silent {
		i--
	}
	if i < 0 || v.Messages[i].Role != Assistant {
		return nil
	}
	return &v.Messages[i]
}

// The method `separating` returns the tool arcs that have to become skeletons, because they separate two steps of the
// same turn. Usually these are the arcs of the step directly before the newest step. Some providers join consecutive
// assistant messages. Without a result between the two steps, such a provider would see the text of the older step
// before the thinking of the newest step, and refuse the request.
//
// An answer without calls is joined with the step after it, so it belongs to that step. If such an answer is the last
// message, it counts as a step of its own, because the model may go on with signed thinking and calls.
//
// If the newest step has no calls, and the user has answered it, there is nothing to separate. If the newest step has
// calls but no signed thinking, there is usually nothing to separate either. But if an older step of the turn has both
// thinking and calls, separating returns the arcs of the newest step. If they were removed, the older step would be the
// last step with calls, and the provider would require its thinking. If a turn ends with calls, lastCalls takes care of
// them.
func (v View) separating() map[int]bool {
	newest := v.NewestAnswer()
	if newest < 0 || len(v.arcsOf(&v.Messages[newest])) == 0 && v.unanswered() == nil {
		return nil
	}
	own := v.arcsOf(&v.Messages[newest])
	thinks := v.Messages[newest].Signed || len(own) == 0
	isBehindCalls := false // between the two steps is a step with calls and without thinking
	for i := newest - 1; i >= 0 && (v.Messages[i].Role == Assistant || v.Messages[i].Silent); i-- {
		m := &v.Messages[i]
		tags := v.arcsOf(m)
		switch {
		case m.Silent:
		case !thinks && m.Signed && (isBehindCalls || len(tags) > 0):
			return setOf(own)
		case len(tags) == 0:
			thinks = thinks || m.Signed
		case thinks:
			return setOf(tags)
		default:
			isBehindCalls = true
		}
	}
	return nil
}

// lastCalls covers the messages that must keep at least one call. It maps each tool arc of such a message to all arcs
// of the same message. When a rule drops the only arc that is left, the arc becomes a skeleton. If it were removed,
// render would have to bring a removed call back.
func (v View) lastCalls() map[int][]int {
	arcs := make(map[int][]int)
	for i := range v.Messages {
		if m := &v.Messages[i]; m.KeepsCall {
			tags := v.arcsOf(m)
			for _, tag := range tags {
				arcs[tag] = tags
			}
		}
	}
	return arcs
}

func (v View) areDroppedBut(tag int, arcs []int) bool {
	for _, other := range arcs {
		if other != tag && v.State.ByTag(other).Edit != frozen.Drop {
			return false
		}
	}
	return true
}

// NewestAnswer returns the index of the model's newest message that the provider sees, or -1.
func (v View) NewestAnswer() int {
	i := len(v.Messages) - 1
	for i >= 0 && (v.Messages[i].Role != Assistant || v.Messages[i].Silent) {
		i--
	}
	return i
}

func (v View) arcsOf(m *Message) []int {
	var tags []int
	for _, it := range m.Items {
		if u := v.State.ByTag(it.Tag); u != nil && u.Kind == frozen.ToolUnit {
			tags = append(tags, it.Tag)
		}
	}
	return tags
}

func setOf(tags []int) map[int]bool {
	set := make(map[int]bool, len(tags))
	for _, tag := range tags {
		set[tag] = true
	}
	return set
}

func (v View) cutoff(k Knobs) int { return v.State.TagCounter() - k.ProtectedTags }

func (v View) steps() int {
	if len(v.Messages) == 0 {
		return 0
	}
	return v.Messages[len(v.Messages)-1].Step
}
