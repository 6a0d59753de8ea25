package historian

import "strings"

// A Compartment is a summarised range of history.
type Compartment struct {
	Range
	// Keys holds the key of each message of the range, empty if it is unreadable.
	Keys  []string
	Title string
	// Tiers are four paraphrases of the range, from full detail to a short reminder. The fourth may be empty.
	Tiers [4]string
	// Importance, 1..100, says how long the details are worth keeping.
	Importance int
	// Episode names the kinds of work, for example "bug,investigation".
	Episode string
	// Receipt says which anchors of the raw messages appear in the tiers.
	Receipt Receipt
}

// A Reference is an older compartment that the historian sees, so that it continues the story and does not
// repeat it.
type Reference struct {
	Range
	Title      string
	Episode    string
	Importance int
	Tiers      [4]string
}

// A Memory is a fact that the project already remembers.
type Memory struct{ Category, Content string }

// A Fact is a statement about the project that stays true after the session, for example "tests run with `go
// test ./...`".
type Fact struct {
	// Category is one of Categories.
	Category string
	Content  string
	// Source is the range of messages that the fact comes from.
	Source Range
}

// Categories are the categories of facts, in the order in which prompts list
// them.
var Categories = [...]string{"PROJECT_RULES", "ARCHITECTURE", "CONSTRAINTS", "CONFIG_VALUES", "NAMING"}

const (
	defaultImportance = 50
	minImportance     = 1
	maxImportance     = 100
)

// normalise returns a text in lower case, with single blanks between words.
func normalise(text string) string { return oneLine(strings.ToLower(text)) }

// oneLine returns a text with single blanks between words.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
