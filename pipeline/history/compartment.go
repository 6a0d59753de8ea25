package history

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Compartment is a summary of the raw messages from ordinal Start to ordinal
// End, both included.
type Compartment struct {
	// Seq numbers the compartments of a session from 0, without gaps.
	Seq        int
	Start, End int
	// Keys holds the key of each message from Start to End, empty if it is unreadable.
	Keys []string
	// AfterSummary is the key of the harness's own summary that the array began with when
	// the compartment was made. It is empty if the array began with the first message.
	AfterSummary string
	Title        string
	// Tiers holds the summary in four lengths, the longest first. An empty tier 2
	// or 3 stands for the tier before it. An empty tier 4 says that the title is
	// enough. A compartment with an empty tier 1 is rendered from Content.
	Tiers [4]string
	// Content is the only text of a compartment without tiers. Old databases have
	// such compartments, and a historian may write one.
	Content string
	// Flat marks a compartment that was stored before there were tiers. It does not
	// take part in decay, because its size says nothing about the size of a tier.
	Flat bool
	// Importance says how long the details are worth keeping, from 1 to 100.
	Importance int
	// Episode names the kinds of work, for example "bug,release". The head does
	// not render it.
	Episode string
	// Missing is the fidelity receipt's line: the anchors of the raw messages that
	// no tier holds, for example "path/a.go · E1234".
	Missing string
}

const (
	// A text without tiers is cut to these lengths, in characters. They are about
	// the lengths of tier 2 and tier 3 of a compartment with tiers.
	flatTier2 = 1200
	flatTier3 = 420
)

// EndKey returns the key of the last readable message, or "" if there is none.
func (c *Compartment) EndKey() string { return LastKey(c.Keys) }

// LastKey returns the last key that is not empty, or "" if there is none.
func LastKey(keys []string) string {
	for _, key := range slices.Backward(keys) {
		if key != "" {
			return key
		}
	}
	return ""
}

// hasTiers reports whether the compartment has a summary in tiers. The first tier
// decides: an upgrade that was interrupted can leave rows that only claim to have
// tiers (bug class H6 in docs/defects.md).
func (c *Compartment) hasTiers() bool { return !c.Flat && c.Tiers[0] != "" }

// RenderCompartment returns the element of a compartment at a tier, 1 to 4. It
// names the range, so that the model can expand it. An archived compartment
// renders as nothing.
func RenderCompartment(c *Compartment, tier int) string {
	if tier >= Archived {
		return ""
	}
	tag := `<compartment start="` + strconv.Itoa(c.Start) + `" end="` + strconv.Itoa(c.End) +
		`" title="` + escapeAttribute(c.Title) + `"`
	body := c.body(max(tier, 1))
	if body == "" {
		return tag + " />"
	}
	return tag + ">\n" + body + "\n</compartment>"
}

// body returns the escaped text of a tier. Tiers 1 and 2 end with the line of the
// missing anchors.
func (c *Compartment) body(tier int) string {
	text := escapeContent(strings.TrimSpace(c.textOf(tier)))
	missing := oneLine(c.Missing)
	if tier > 2 || missing == "" {
		return text
	}
	line := "missing: " + escapeContent(missing)
	if text == "" {
		return line
	}
	return text + "\n" + line
}

func (c *Compartment) textOf(tier int) string {
	if !c.hasTiers() {
		return c.flatText(tier)
	}
	if tier == 4 {
		return c.Tiers[3]
	}
	for ; tier > 1 && c.Tiers[tier-1] == ""; tier-- {
	}
	return c.Tiers[tier-1]
}

func (c *Compartment) flatText(tier int) string {
	switch tier {
	case 1:
		return c.Content
	case 2:
		return cutText(c.Content, flatTier2)
	case 3:
		return cutText(c.Content, flatTier3)
	default:
		return ""
	}
}

// flatTier returns the tier at which the baseline starts with a flat compartment. If
// the compartment quotes the user, its beginning stays (tier 3).
func (c *Compartment) flatTier() int {
	for line := range strings.Lines(c.Content) {
		if strings.HasPrefix(line, "U:") {
			return 3
		}
	}
	return 4
}

// cutText cuts a text to n characters and marks the cut with "…".
func cutText(text string, n int) string {
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if end == len(text) {
		return text
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace) + "…"
}
