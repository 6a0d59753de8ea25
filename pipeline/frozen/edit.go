package frozen

import "fmt"

// EditKind is what an edit does.
type EditKind string

// The kinds of edits. What became of a unit's content never weakens: each of
// Clamp, Skeleton and Drop may follow the one before it, and a drop is for ever.
const (
	// NoEdit is the state of a unit whose content is whole.
	NoEdit EditKind = ""
	// Clamp shortens the long arguments of a tool call and keeps its result.
	Clamp EditKind = "clamp"
	// Skeleton keeps a tool call, with its input clamped and its result
	// replaced by the placeholder: when all recent calls vanish, models start
	// to imitate tool calls in text (spec transform §14.2).
	Skeleton EditKind = "skeleton"
	// Drop replaces a text or file by its placeholder and removes a tool arc.
	Drop EditKind = "drop"

	// Strip takes injected blocks out of a text (§15.1).
	Strip EditKind = "strip"
	// Compress shortens a text; the edit's level says how much (§20).
	Compress EditKind = "compress"
	// Unthink leaves out the reasoning of the unit's message, and thinking that
	// was written into its texts (§18).
	Unthink EditKind = "unthink"
	// Shell says that nothing worth sending is left of the unit's message.
	Shell EditKind = "shell"
)

// strength orders what can become of a content.
var strength = map[EditKind]int{NoEdit: 0, Clamp: 1, Skeleton: 2, Drop: 3}

// An Edit is a durable decision about one unit, or about its message.
type Edit struct {
	Tag  int
	Kind EditKind
	// Level belongs to Compress, 1 to 3.
	Level int
}

// String returns the edit for tests and logs.
func (e Edit) String() string {
	if e.Kind == Compress {
		return fmt.Sprintf("{%d %s %d}", e.Tag, e.Kind, e.Level)
	}
	return fmt.Sprintf("{%d %s}", e.Tag, e.Kind)
}

// Treatment is all that has been decided about a unit.
type Treatment struct {
	// Edit is what became of the content: NoEdit, Clamp, Skeleton or Drop.
	Edit EditKind
	// Level is how much its text is compressed, 0 to 3.
	Level int
	// Stripped, Unthought and IsShell say that there is an edit of that kind.
	Stripped, Unthought, IsShell bool
}

// Active reports whether the content is still on the wire.
func (t Treatment) Active() bool { return t.Edit != Drop && t.Edit != Skeleton }

// Covers reports whether e would change nothing.
func (t Treatment) Covers(e Edit) bool { return t.with(e) == t }

func (t Treatment) with(e Edit) Treatment {
	switch e.Kind {
	case Strip:
		t.Stripped = true
	case Compress:
		t.Level = max(t.Level, e.Level)
	case Unthink:
		t.Unthought = true
	case Shell:
		t.IsShell = true
	default:
		if strength[e.Kind] > strength[t.Edit] {
			t.Edit = e.Kind
		}
	}
	return t
}

// Undo is what edits have replaced.
type Undo []before

type before struct {
	tag       int
	treatment Treatment
}

// What is left of a unit, in tokens: a placeholder, and arguments that were
// shortened (those of up to 500 characters stay whole).
const (
	placeholderTokens = 8
	shortInputTokens  = 125
)

// Left returns the tokens of the unit that are still on the wire, estimated
// where the wire has not been counted.
func (u *Unit) Left() int {
	short := min(u.InputTokens, shortInputTokens)
	switch {
	case u.Edit == Drop && u.Kind == ToolUnit:
		return 0
	case u.Edit == Drop:
		return min(u.Tokens, placeholderTokens)
	case u.Edit == Skeleton:
		return min(u.Tokens, placeholderTokens) + short
	case u.Edit == Clamp:
		return u.Tokens + short
	}
	return u.Tokens*(10-u.Level)/10 + u.InputTokens
}

// Freed returns the tokens that e would take off the wire, estimated.
func (u *Unit) Freed(e Edit) int {
	after := *u
	after.Treatment = u.with(e)
	return max(0, u.Left()-after.Left())
}
