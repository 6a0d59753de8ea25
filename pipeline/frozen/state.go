package frozen

// UnitKind is what a unit is made of.
type UnitKind string

// The kinds of units.
const (
	TextUnit UnitKind = "text"
	FileUnit UnitKind = "file"
	ToolUnit UnitKind = "tool"
)

// A Unit is one taggable piece of content: what it is, which never changes, and
// what was decided about it.
type Unit struct {
	// Tag is the number that the model sees as §N§. It is never reused.
	Tag int
	// Key identifies the unit across passes and restarts.
	Key string
	// MessageKey is the harness's id of the message that owns the unit.
	MessageKey string
	Kind       UnitKind
	// Tool is the tool's name, for tool units.
	Tool string
	// Bytes and Tokens measure the content (of a tool: its result);
	// InputBytes and InputTokens the tool's arguments. The two are disjoint.
	Bytes, Tokens           int
	InputBytes, InputTokens int
	// GapSeconds is how long after the message before it the unit's message
	// came, where its text is the one that shows it; else 0.
	GapSeconds int
	Treatment
}

// A QueuedDrop waits for the next bust.
type QueuedDrop struct {
	Tag int
	// QueuedAt is Unix milliseconds.
	QueuedAt int64
	// Source says who queued it, for instance "ctx_reduce".
	Source string
}

// State is the frozen state of one session.
type State struct {
	// TagCounter is the highest tag ever given.
	TagCounter int
	// Setup is what was decided for the session as a whole.
	Setup  Setup
	units  []Unit // ascending by tag
	byKey  map[string]int
	byTag  map[int]int
	queue  []QueuedDrop // in the order they were queued
	queued map[int]bool // its tags
}

// NewState returns the state that was stored: units ascending by tag, edits of
// those units in any order, and the queue in its order. The setup is the
// caller's to set.
func NewState(tagCounter int, units []Unit, edits []Edit, queue []QueuedDrop) *State {
	s := &State{TagCounter: tagCounter, byKey: make(map[string]int, len(units)), byTag: make(map[int]int, len(units)), queued: make(map[int]bool)}
	for _, u := range units {
		s.insert(u)
	}
	s.Freeze(edits)
	s.Enqueue(queue...)
	return s
}

func (s *State) insert(u Unit) {
	s.byKey[u.Key] = len(s.units)
	s.byTag[u.Tag] = len(s.units)
	s.units = append(s.units, u)
	s.TagCounter = max(s.TagCounter, u.Tag)
}

// Add gives u the next tag and returns it.
func (s *State) Add(u Unit) Unit {
	u.Tag = s.TagCounter + 1
	s.insert(u)
	return u
}

// ByKey returns the unit with that key, or nil.
func (s *State) ByKey(key string) *Unit {
	if i, ok := s.byKey[key]; ok {
		return &s.units[i]
	}
	return nil
}

// ByTag returns the unit with that tag, or nil.
func (s *State) ByTag(tag int) *Unit {
	if i, ok := s.byTag[tag]; ok {
		return &s.units[i]
	}
	return nil
}

// Units returns all units, ascending by tag. The slice belongs to the state.
func (s *State) Units() []Unit { return s.units }

// Queue returns the queued drops, oldest first. The slice belongs to the state.
func (s *State) Queue() []QueuedDrop { return s.queue }

// Enqueue adds drops for tags that have none queued yet.
func (s *State) Enqueue(drops ...QueuedDrop) {
	for _, d := range drops {
		if !s.queued[d.Tag] {
			s.queue, s.queued[d.Tag] = append(s.queue, d), true
		}
	}
}

// Queued reports whether a drop of tag waits.
func (s *State) Queued(tag int) bool { return s.queued[tag] }

// Freeze applies edits to their units and returns how to take them back.
// Unknown tags are left alone.
func (s *State) Freeze(edits []Edit) Undo {
	var undo Undo
	for _, e := range edits {
		if u := s.ByTag(e.Tag); u != nil {
			undo = append(undo, before{e.Tag, u.Treatment})
			u.Treatment = u.with(e)
		}
	}
	return undo
}

// Thaw takes back what Freeze did: for edits that could not be stored, or that
// were only tried.
func (s *State) Thaw(undo Undo) {
	for i := len(undo) - 1; i >= 0; i-- {
		if u := s.ByTag(undo[i].tag); u != nil {
			u.Treatment = undo[i].treatment
		}
	}
}

// Dequeue removes the queued drops of tags.
func (s *State) Dequeue(tags []int) {
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

// Forget removes the units of messages that the harness has deleted, and what
// was decided or queued about them. Their tags are not given again.
func (s *State) Forget(messageKeys map[string]bool) {
	units, queue := s.units, s.queue
	s.units, s.queue, s.queued = nil, nil, make(map[int]bool)
	s.byKey, s.byTag = make(map[string]int, len(units)), make(map[int]int, len(units))
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
}
