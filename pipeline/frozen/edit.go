package frozen

import "fmt"

// An EditKind names the effect of an edit.
type EditKind string

// Clamp, Withhold, Skeleton and Drop replace content. They are in ascending order: each of them replaces more than the
// one before. A pass may change such an edit only to a stronger one, for example a clamp to a drop. Only the user can
// have an edit taken back (Additions.Restored).
const (
	// NoEdit means that the content is whole.
	NoEdit EditKind = ""
	// Clamp shortens the long arguments of a tool call and keeps its result.
	Clamp EditKind = "clamp"
	// Withhold replaces the result of a tool call, a text or a file with a short text. The short text says how large
	// the content was, and that it can be read in parts. The arguments of a call stay.
	Withhold EditKind = "withhold"
	// Skeleton keeps a tool call with clamped arguments, and replaces its result with the placeholder. The newest calls
	// get it instead of Drop, because a model that sees no recent calls begins to imitate tool calls in its text.
	Skeleton EditKind = "skeleton"
	// Drop replaces a text or file with its placeholder, and removes a tool arc.
	Drop EditKind = "drop"

	// Strip removes injected blocks from a text, for example a <system-reminder> block.
	Strip EditKind = "strip"
	// Compress shortens a text. The edit's level says by how much.
	Compress EditKind = "compress"
	// Unthink removes the reasoning of the unit's message, and thinking in its texts, for example between <think> tags.
	Unthink EditKind = "unthink"
	// Shell means that the unit's message has no content that is worth sending.
	Shell EditKind = "shell"
)

var strength = map[EditKind]int{NoEdit: 0, Clamp: 1, Withhold: 2, Skeleton: 3, Drop: 4}

// An Edit is a durable decision about one unit, or about the message of that unit.
type Edit struct {
	Tag  int
	Kind EditKind
	// Level is used by Compress only, 1 to 3.
	Level int
}

func (e Edit) String() string {
	if e.Kind == Compress {
		return fmt.Sprintf("{%d %s %d}", e.Tag, e.Kind, e.Level)
	}
	return fmt.Sprintf("{%d %s}", e.Tag, e.Kind)
}

// A Treatment sums up all edits of a unit.
type Treatment struct {
	// Edit says how the content was replaced: NoEdit, Clamp, Withhold, Skeleton or Drop.
	Edit EditKind
	// Clamped means that an earlier Clamp has shortened the arguments. They stay short under a later, stronger edit.
	Clamped bool
	// Level says how far the text is compressed, 0 to 3.
	Level int
	// Stripped, Unthought and IsShell mean that the unit has an edit of the kind Strip, Unthink or Shell.
	Stripped, Unthought, IsShell bool
	// Covered means that the head replaces the unit's message.
	Covered bool
}

func (t Treatment) Active() bool { return !t.Covered && (t.Edit == NoEdit || t.Edit == Clamp) }

// Covers reports whether applying e would change nothing.
func (t Treatment) Covers(e Edit) bool { return t.with(e) == t }

// IsWhole reports whether no edit has changed the content.
func (t Treatment) IsWhole() bool { return t.Edit == NoEdit && t.Level == 0 }

// The method `restored` returns the treatment after the user has taken the edits back. The content is whole again, but
// injected blocks and reasoning stay removed.
func (t Treatment) restored() Treatment {
	t.Edit, t.Clamped, t.Level = NoEdit, false, 0
	return t
}

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
	case Clamp:
		if t.Edit == NoEdit {
			t.Edit = Clamp
		}
		t.Clamped = t.Clamped || t.Edit == Withhold || t.Edit == Skeleton
	default:
		if strength[e.Kind] > strength[t.Edit] {
			t.Clamped = t.Clamped || t.Edit == Clamp
			t.Edit = e.Kind
		}
	}
	return t
}

// These numbers estimate how many tokens remain after an edit: the placeholder, the text that Withhold writes, and
// clamped arguments. A clamp does not shorten arguments of up to shortInputTokens.
const (
	placeholderTokens = 8
	withheldTokens    = 50
	shortInputTokens  = 125
)

// Left returns how many tokens of the unit are on the wire. For an edited unit, the result is an estimate.
func (u *Unit) Left() int {
	short := min(u.InputTokens, shortInputTokens)
	switch {
	case u.Covered, u.Edit == Drop && u.Kind == ToolUnit:
		return 0
	case u.Edit == Drop:
		return min(u.Tokens, placeholderTokens)
	case u.Edit == Skeleton:
		return min(u.Tokens, placeholderTokens) + short
	case u.Edit == Withhold && u.Clamped:
		return min(u.Tokens, withheldTokens) + short
	case u.Edit == Withhold:
		return min(u.Tokens, withheldTokens) + u.InputTokens
	case u.Edit == Clamp:
		return u.Tokens + short
	}
	return u.Tokens*(10-u.Level)/10 + u.InputTokens
}

func (u *Unit) Freed(e Edit) int {
	after := *u
	after.Treatment = u.with(e)
	return max(0, u.Left()-after.Left())
}
