package frozen

import (
	"cmp"
	"slices"
)

// A UnitKind says which kind of content a unit holds.
type UnitKind string

const (
	TextUnit UnitKind = "text"
	FileUnit UnitKind = "file"
	ToolUnit UnitKind = "tool"
)

// A Unit is one taggable piece of content, for example a tool call with its result. Its identity never changes.
type Unit struct {
	// Tag is the number that the model sees as §N§. It is never reused.
	Tag int
	// Key identifies the unit across passes and restarts.
	Key string
	// MessageKey is the harness's id of the message that owns the unit.
	MessageKey string
	Kind       UnitKind
	// Tool is the tool's name. Only tool units have one.
	Tool string
	// Bytes and Tokens measure the content. The content of a tool unit is the result; InputBytes and InputTokens
	// measure its arguments.
	Bytes, Tokens           int
	InputBytes, InputTokens int
	// GapSeconds is the pause before the unit's message. Only the text unit that shows
	// the pause has a value other than 0.
	GapSeconds int
	// Note is a text that the host adds at the end of the content on the wire, for example a reminder that output
	// could be dropped. It is chosen before the content is sent for the first time.
	Note string
	// Fingerprint is the same for all copies of the unit in forks. It is 0 if it is not known.
	Fingerprint int64
	// Typed is the line that the user typed, for example "/review main", if the harness
	// has replaced it with the text of a command.
	Typed string
	// Kept is the time, in Unix milliseconds, at which the user asked to keep the content. It is 0 if the
	// content is not kept. If an edit has replaced the content, the next bust takes the edit back.
	Kept int64
	Treatment
}

// A QueuedDrop is a drop that waits for the next bust.
type QueuedDrop struct {
	Tag int
	// Key is the key of the unit to drop. If another unit has the tag after a restart, the drop is discarded.
	Key string
	// QueuedAt is Unix milliseconds.
	QueuedAt int64
}

// State is the frozen state of one session.
type State struct {
	// TagCounter is the highest tag ever given.
	TagCounter int
	// Setup holds the session's setup.
	Setup Setup
	// Head is set with SetHead.
	Head    Head
	covered Keys
	// hidden means that the head is not shown; see HideHead.
	hidden bool
	units  []Unit // ascending by tag
	byKey  map[string]int
	queue  []QueuedDrop // in the order they were queued
	queued map[int]bool // the tags in queue
	// bindings is indexed by message key.
	bindings map[string]*Binding
}

// NewState builds a state from its stored parts: units in ascending order of tags, edits in any order, and queued drops
// in the order of the queue. If the tag of a queued drop now belongs to another unit, NewState discards the drop,
// because the model did not ask to drop that unit.
func NewState(tagCounter int, units []Unit, edits []Edit, queue []QueuedDrop) *State {
	s := &State{
		TagCounter: tagCounter,
		byKey:      make(map[string]int, len(units)), queued: make(map[int]bool), bindings: make(map[string]*Binding),
	}
	for _, u := range units {
		s.insert(u)
	}
	s.Commit(Additions{Edits: edits})
	for _, d := range queue {
		if u := s.ByTag(d.Tag); u != nil && u.Key == d.Key {
			s.Enqueue(d)
		}
	}
	return s
}

func (s *State) insert(u Unit) {
	u.Covered = !s.hidden && s.covered[u.MessageKey]
	s.byKey[u.Key] = len(s.units)
	s.units = append(s.units, u)
	s.TagCounter = max(s.TagCounter, u.Tag)
}

func (s *State) Add(u Unit) Unit {
	u.Tag = s.TagCounter + 1
	s.insert(u)
	return u
}

func (s *State) ByKey(key string) *Unit {
	if i, ok := s.byKey[key]; ok {
		return &s.units[i]
	}
	return nil
}

func (s *State) ByTag(tag int) *Unit {
	if len(s.units) == 0 {
		return nil
	}
	// Tags are consecutive, except where messages were deleted. So this index is nearly always the right one.
	if i := tag - s.units[0].Tag; i >= 0 && i < len(s.units) && s.units[i].Tag == tag {
		return &s.units[i]
	}
	if i, ok := slices.BinarySearchFunc(s.units, tag, func(u Unit, tag int) int { return cmp.Compare(u.Tag, tag) }); ok {
		return &s.units[i]
	}
	return nil
}

// Units returns all units, ascending by tag. The slice belongs to the state.
func (s *State) Units() []Unit { return s.units }

// Queue returns the queued drops, oldest first. The slice belongs to the state.
func (s *State) Queue() []QueuedDrop { return s.queue }

// Keep marks the unit as kept since the given time, and discards its queued drop. If since is 0, Keep removes the mark.
// The mark has no effect on the wire until the next bust.
func (s *State) Keep(tag int, since int64) {
	if u := s.ByTag(tag); u != nil {
		u.Kept = since
		if since != 0 {
			s.dequeue([]int{tag})
		}
	}
}

// Enqueue adds drops, except drops of kept units. If a drop of the same tag is already queued, the earlier drop stays.
func (s *State) Enqueue(drops ...QueuedDrop) {
	for _, d := range drops {
		if u := s.ByTag(d.Tag); !s.queued[d.Tag] && (u == nil || u.Kept == 0) {
			s.queue, s.queued[d.Tag] = append(s.queue, d), true
		}
	}
}

func (s *State) Queued(tag int) bool { return s.queued[tag] }

func (s *State) dequeue(tags []int) {
	gone := make(map[int]bool, len(tags))
	for _, t := range tags {
		gone[t] = true
	}
	kept := s.queue[:0]
	for _, d := range s.queue {
		if gone[d.Tag] {
			delete(s.queued, d.Tag)
			continue
		}
		kept = append(kept, d)
	}
	s.queue = kept
}

// Forget removes the units of deleted messages, with their edits and queued drops. Their tags are not given again.
func (s *State) Forget(messageKeys map[string]bool) {
	units, queue := s.units, s.queue
	s.units, s.queue, s.queued = nil, nil, make(map[int]bool)
	s.byKey = make(map[string]int, len(units))
	for _, u := range units {
		if !messageKeys[u.MessageKey] {
			s.insert(u)
		}
	}
	for _, d := range queue {
		if s.ByTag(d.Tag) != nil {
			s.Enqueue(d)
		}
	}
	for key := range messageKeys {
		delete(s.bindings, key)
	}
}
