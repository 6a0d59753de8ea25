package session

// A Slot gives each session a place for a feature's own state, so Session needs no field for it. A feature
// declares one Slot for each type of its state:
//
//	var counts = session.NewSlot[int]()
//
//	*counts.Of(s)++
type Slot[T any] struct {
	isLasting bool
}

// NewSlot returns a slot that is emptied when the host forgets the session's state, for example after a failed pass.
// The feature then reads its state from the store again.
func NewSlot[T any]() *Slot[T] { return &Slot[T]{} }

// NewLastingSlot returns a slot that stays as long as the session is in memory.
func NewLastingSlot[T any]() *Slot[T] { return &Slot[T]{isLasting: true} }

// Of returns the feature's state in a session. At first, the state is the zero value. The caller holds the session's
// lock.
func (k *Slot[T]) Of(s *Session) *T {
	states := &s.states
	if k.isLasting {
		states = &s.lasting
	}
	if state, ok := (*states)[k]; ok {
		return state.(*T)
	}
	if *states == nil {
		*states = make(map[any]any)
	}
	state := new(T)
	(*states)[k] = state
	return state
}
