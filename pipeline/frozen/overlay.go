package frozen

import (
	"iter"
	"maps"
)

// Additions holds everything that one busting pass adds to the frozen state.
type Additions struct {
	// Restored lists the tags of units whose edits the pass takes back. The pass takes them back before it adds Edits.
	// If the message of such a unit was a shell, it has content again, so it is no longer a shell.
	Restored []int
	Edits    []Edit
	// Released lists the tags of units that the user wanted to keep, but that the pass had to remove. Afterwards, they
	// no longer count as kept.
	Released []int
	// Setup is the session's new setup, or nil if the pass does not change the setup.
	Setup *Setup
	// Head is the session's new head, or nil if the pass does not change the head. Covered names the messages that the
	// new head replaces.
	Head    *Head
	Covered Keys
	// Drained lists the tags of queued drops that leave the queue.
	Drained []int
}

// Commit makes the additions part of the state. It ignores tags that belong to no unit.
func (s *State) Commit(a Additions) {
	for _, tag := range a.Restored {
		for u := range s.unitsBeside(tag) {
			u.IsShell = false
			if u.Tag == tag {
				u.Treatment = u.restored()
			}
		}
	}
	for _, e := range a.Edits {
		if u := s.ByTag(e.Tag); u != nil {
			u.Treatment = u.with(e)
		}
	}
	for _, tag := range a.Released {
		s.Keep(tag, 0)
	}
	if a.Setup != nil {
		s.Setup = *a.Setup
	}
	if a.Head != nil {
		s.SetHead(*a.Head, a.Covered)
	}
	if len(a.Drained) > 0 {
		s.dequeue(a.Drained)
	}
}

// An Overlay shows a state with proposed additions, but does not change the state. For example, a pass renders with
// an overlay, and discards the overlay if its edits cannot be stored.
type Overlay struct {
	// Setup is the proposed setup, or else the setup of the state.
	Setup Setup
	// Head is the proposed head, or else the head of the state.
	Head Head

	state *State
	// edited maps a tag to a changed copy of its unit. It contains each unit that the proposed edits or the proposed
	// head change.
	edited map[int]*Unit
}

// With returns an overlay that shows the state with the additions a. The queue still contains the drops in a.Drained,
// because only Commit removes them.
func (s *State) With(a Additions) *Overlay {
	o := &Overlay{Setup: s.Setup, Head: s.Head, state: s}
	if a.Setup != nil {
		o.Setup = *a.Setup
	}
	if a.Head != nil {
		o.layHead(*a.Head, a.Covered)
	}
	for _, tag := range a.Restored {
		o.Restore(tag)
	}
	for _, e := range a.Edits {
		o.Lay(e)
	}
	return o
}

func (o *Overlay) Restore(tag int) {
	for stored := range o.state.unitsBeside(tag) {
		u := *o.shown(stored) // a copy, because a clone of the overlay may share the old unit
		u.IsShell = false
		if u.Tag == tag {
			u.Treatment = u.restored()
		}
		o.set(u)
	}
}

func (s *State) unitsBeside(tag int) iter.Seq[*Unit] {
	return func(yield func(*Unit) bool) {
		of := s.ByTag(tag)
		for i := range s.units {
			if u := &s.units[i]; of != nil && u.MessageKey == of.MessageKey && !yield(u) {
				return
			}
		}
	}
}

// Clone returns a copy that takes further edits without changing o.
func (o *Overlay) Clone() *Overlay {
	return &Overlay{Setup: o.Setup, Head: o.Head, state: o.state, edited: maps.Clone(o.edited)}
}

// Lay adds a proposed edit to the overlay. It ignores a tag that no unit has.
func (o *Overlay) Lay(e Edit) {
	u := o.ByTag(e.Tag)
	if u == nil {
		return
	}
	edited := *u // a copy, because a clone of the overlay may share the old unit
	edited.Treatment = u.with(e)
	o.set(edited)
}

func (o *Overlay) set(u Unit) {
	if o.edited == nil {
		o.edited = make(map[int]*Unit)
	}
	o.edited[u.Tag] = &u
}

func (o *Overlay) ByTag(tag int) *Unit {
	if u := o.edited[tag]; u != nil {
		return u
	}
	return o.state.ByTag(tag)
}

func (o *Overlay) ByKey(key string) *Unit { return o.shown(o.state.ByKey(key)) }

func (o *Overlay) shown(u *Unit) *Unit {
	if u != nil && len(o.edited) > 0 {
		if edited := o.edited[u.Tag]; edited != nil {
			return edited
		}
	}
	return u
}

// Units returns all units, ascending by tag.
func (o *Overlay) Units() iter.Seq[*Unit] {
	return func(yield func(*Unit) bool) {
		for i := range o.state.units {
			if !yield(o.shown(&o.state.units[i])) {
				return
			}
		}
	}
}

// UnitsFromNewest returns all units, descending by tag.
func (o *Overlay) UnitsFromNewest() iter.Seq[*Unit] {
	return func(yield func(*Unit) bool) {
		for i := len(o.state.units) - 1; i >= 0; i-- {
			if !yield(o.shown(&o.state.units[i])) {
				return
			}
		}
	}
}

func (o *Overlay) TagCounter() int { return o.state.TagCounter }

// Queue returns the queued drops, oldest first. The slice belongs to the state, so the caller must not change it.
func (o *Overlay) Queue() []QueuedDrop { return o.state.queue }

func (o *Overlay) Queued(tag int) bool { return o.state.Queued(tag) }
